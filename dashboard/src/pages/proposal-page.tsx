import { Alert, Checkbox, Stack, Text } from '@mantine/core'
import type { AgentAction } from '@signalbox/contract/agents/actions.ts'
import type { QueuedBatch, QueuedBatchAnswer } from '@signalbox/contract/agents/approvals.ts'
import type { ActionPolicy } from '@signalbox/contract/agents/policy.ts'
import { useQuery } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import { useState } from 'react'
import { ActionResults } from '../approvals/action-results.tsx'
import { proposalQuery } from '../approvals/approval-api.ts'
import { ActionRationale, ChangeHead, ChangeNotices, Notice } from '../approvals/change-view.tsx'
import { type Choice, type Decision, DecisionBar, DecisionDialog } from '../approvals/decision.tsx'
import {
  DayTotals,
  EvidenceView,
  ProposerFacts,
  RecentChanges,
} from '../approvals/proposal-facts.tsx'
import { ShortcutHint } from '../approvals/shortcut-hint.tsx'
import { ErrorNotice } from '../components/error-notice.tsx'
import { WorkspaceLink } from '../components/links.tsx'
import { Page } from '../components/page.tsx'
import { PageSkeleton } from '../components/page-skeleton.tsx'
import { Time } from '../components/time.tsx'
import { UntrustedText } from '../components/untrusted.tsx'
import { useCanManage, useWorkspace } from '../layout/scope.ts'
import { policyQuery } from '../policy/policy-api.ts'

/** One proposal: what would change and why, the decision, and the results. */
export function ProposalPage() {
  const { id: workspace } = useWorkspace()
  const { proposal } = useParams({ from: '/w/$workspace/approvals/$proposal' })
  const answer = useQuery(proposalQuery(workspace, proposal))
  const policy = useQuery(policyQuery(workspace))
  const error = answer.error ?? policy.error
  const retry = () => void Promise.all([answer.refetch(), policy.refetch()])
  return (
    <Page
      title={`Proposal ${proposal}`}
      actions={
        <WorkspaceLink workspace={workspace} path="approvals" size="sm">
          All approvals
        </WorkspaceLink>
      }
    >
      {error && <ErrorNotice error={error} onRetry={retry} />}
      {!error && !(answer.data && policy.data) && <PageSkeleton />}
      {answer.data && policy.data && (
        <Proposal
          key={proposal}
          workspace={workspace}
          answer={answer.data}
          policy={policy.data.policy}
        />
      )}
    </Page>
  )
}

interface ProposalProps {
  workspace: string
  answer: QueuedBatchAnswer
  policy: ActionPolicy
}

const SAVED: Record<Decision, string> = {
  approve: 'Your decision is saved. The results are below.',
  reject: 'Your decision is saved: rejected changes are not made.',
}

function Proposal({ workspace, answer, policy }: ProposalProps) {
  const { batch, recent_changes, decision_records } = answer
  const [excluded, setExcluded] = useState<readonly number[]>([])
  const [choice, setChoice] = useState<Choice | null>(null)
  const [saved, setSaved] = useState<Decision | null>(null)
  const pending = batch.actions.filter(({ status }) => status === 'pending')
  const decided = batch.actions.filter(({ status }) => status !== 'pending')
  const chosen = batch.all_or_nothing ? pending : pending.filter(({ id }) => !excluded.includes(id))
  const results = decided.length > 0 && (
    <ActionResults batch={batch} actions={decided} records={decision_records} />
  )
  const onDone = (decision: Decision) => {
    setChoice(null)
    setExcluded([])
    setSaved(decision)
    scrollTo({ top: 0 })
  }
  const toggle = (id: number) =>
    setExcluded(excluded.includes(id) ? excluded.filter(it => it !== id) : [...excluded, id])
  return (
    <>
      {saved && <Alert role="status" color="brand" variant="light" title={SAVED[saved]} />}
      {saved && results}
      {pending.length > 0 && <Deadline batch={batch} />}
      {batch.all_or_nothing && pending.length > 1 && (
        <Notice>
          All or nothing: your decision covers all changes. Those that spend less are executed
          first. If one cannot be executed, those already executed are set back, and the others are
          not executed.
        </Notice>
      )}
      {pending.map(action => (
        <PendingChange
          key={action.id}
          batch={batch}
          action={action}
          isChosen={chosen.includes(action)}
          onToggle={pending.length > 1 && !batch.all_or_nothing ? toggle : null}
        />
      ))}
      <WhyAndEvidence batch={batch} />
      {!saved && results}
      <ProposerFacts batch={batch} />
      {pending.length > 0 && <DayTotals batch={batch} policy={policy} />}
      {pending.length > 0 && <RecentChanges entries={recent_changes} />}
      {pending.length > 0 && <ShortcutHint acts="approve and reject" />}
      {pending.length > 0 && <DecisionBar batch={batch} chosen={chosen} onChoose={setChoice} />}
      {choice && (
        <DecisionDialog
          workspace={workspace}
          choice={choice}
          policy={policy}
          onDone={onDone}
          onClose={() => setChoice(null)}
        />
      )}
    </>
  )
}

/** What happens without a decision. */
function Deadline({ batch }: { batch: QueuedBatch }) {
  const hasExpired = new Date(batch.expires_at) <= new Date()
  return (
    <Text size="sm">
      {hasExpired ? 'The time to decide ended ' : 'If nobody decides '}
      {hasExpired ? '' : 'by '}
      <Time at={batch.expires_at} isPlanned={!hasExpired} />
      {hasExpired ? ': it is rejected, and nothing changes.' : ', nothing changes.'}
    </Text>
  )
}

interface PendingChangeProps {
  batch: QueuedBatch
  action: AgentAction
  isChosen: boolean
  /** Null when there is nothing to choose. */
  onToggle: ((id: number) => void) | null
}

function PendingChange({ batch, action, isChosen, onToggle }: PendingChangeProps) {
  const canDecide = useCanManage()
  return (
    <article className="surface section" data-shortcut-item tabIndex={-1}>
      <Stack gap="xs">
        {onToggle && (
          <Checkbox
            label="Decide on this change"
            checked={isChosen}
            disabled={!canDecide}
            data-shortcut-target
            onChange={() => onToggle(action.id)}
          />
        )}
        <ChangeHead action={action} batch={batch} />
        <ActionRationale action={action} batch={batch} />
        <ChangeNotices action={action} batch={batch} />
      </Stack>
    </article>
  )
}

function WhyAndEvidence({ batch }: { batch: QueuedBatch }) {
  const { id: workspace } = useWorkspace()
  const isOfAgent = batch.undoes === null
  return (
    <Stack component="section" gap="xs" className="surface section" aria-label="Why">
      <Stack gap="xs">
        <Text size="sm" fw={600} component="h2">
          Rationale of the {isOfAgent ? 'agent' : 'person'}
        </Text>
        <UntrustedText text={batch.rationale} />
        {isOfAgent && <EvidenceView batch={batch} />}
        {batch.undoes !== null && (
          <Text size="sm">
            It undoes{' '}
            <WorkspaceLink
              workspace={workspace}
              path="audit"
              search={{ subject_type: 'action', subject_id: String(batch.undoes) }}
              underline="always"
            >
              action {batch.undoes}
            </WorkspaceLink>
            .
          </Text>
        )}
      </Stack>
    </Stack>
  )
}
