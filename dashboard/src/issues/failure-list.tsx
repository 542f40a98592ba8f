import { Button, Text } from '@mantine/core'
import type { DeliveryIssue } from '@signalbox/contract/session/issues.ts'
import { useState } from 'react'
import { EmptyState } from '../components/empty-state.tsx'
import { formatNumber } from '../components/format-count.ts'
import { ReplayButton } from '../components/replay.tsx'
import { useCanManage } from '../layout/scope.ts'
import { IssueFrame, IssueGroups } from './issue-frame.tsx'
import { DeliverySamples } from './issue-samples.tsx'
import { describeCode, describeIssue } from './issue-texts.ts'

interface FailureListProps {
  issues: readonly DeliveryIssue[]
}

/** Deliveries that went wrong, by cause, the latest first. */
export function FailureList({ issues }: FailureListProps) {
  const canManage = useCanManage()
  if (issues.length === 0) {
    return (
      <EmptyState title="No delivery went wrong">
        The platform accepted everything that was sent in this time.
      </EmptyState>
    )
  }
  const hasSeveralDestinations = new Set(issues.map(issue => issue.destination_id)).size > 1
  const [first] = issues.filter(({ state }) => state === 'open')
  return (
    <IssueGroups
      issues={issues}
      render={issue => (
        <Failure
          key={issue.id}
          issue={issue}
          canReplay={canManage && issue.failed > 0 && issue.class !== 'local'}
          isDestinationShown={hasSeveralDestinations}
          isOpen={issue === first}
        />
      )}
    />
  )
}

interface FailureProps {
  issue: DeliveryIssue
  canReplay: boolean
  isDestinationShown: boolean
  /** Its events are read at once. */
  isOpen: boolean
}

function Failure({ issue, canReplay, isDestinationShown, ...props }: FailureProps) {
  const [isOpen, setOpen] = useState(props.isOpen)
  const { title, advice } = describeIssue(issue)
  const { destination_id, attempts, failed } = issue
  return (
    <IssueFrame
      issue={issue}
      title={title}
      code={describeCode(issue)}
      summary={countText(attempts, failed)}
      actions={canReplay && <ReplayButton selection={replaySelection(issue)} label="Replay" />}
    >
      <Text maw="46rem">{advice}</Text>
      {isDestinationShown && (
        <Text size="sm">
          Destination <span className="code">{destination_id}</span>
        </Text>
      )}
      {isOpen ? (
        <DeliverySamples issue={issue} />
      ) : (
        <div>
          <Button
            variant="default"
            size="compact-sm"
            aria-label={`Show events: ${title}`}
            onClick={() => setOpen(true)}
          >
            Show events and value
          </Button>
        </div>
      )}
    </IssueFrame>
  )
}

function countText(attempts: number, failed: number): string {
  const answers = attempts === 1 ? 'Once' : `${formatNumber(attempts)} times`
  if (failed === 0) return `${answers}, no delivery failed for good.`
  const deliveries = `${formatNumber(failed)} ${failed === 1 ? 'delivery' : 'deliveries'}`
  return `${answers}, ${deliveries} failed for good.`
}

const REPLAY_LIMIT = 10_000

/** The failed deliveries with this cause as their last error. */
function replaySelection({ destination_id, class: name, code, subcode }: DeliveryIssue) {
  return { destination_id, cause: { class: name, code, subcode }, limit: REPLAY_LIMIT }
}
