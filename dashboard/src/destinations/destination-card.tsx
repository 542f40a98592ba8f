import { Alert, Badge, Button, Group, Stack, Text, Title } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { lazy, Suspense, useId, useState } from 'react'
import { call } from '../api/client.ts'
import { Copy, CopyBlock } from '../components/copy.tsx'
import { ErrorNotice } from '../components/error-notice.tsx'
import { Facts } from '../components/facts.tsx'
import { formatCount, formatNumber } from '../components/format-count.ts'
import { Time } from '../components/time.tsx'
import { useCanManage } from '../layout/scope.ts'
import { ChangeActions } from './change-dialogs.tsx'
import { CredentialDialog } from './credential-dialog.tsx'
import { CREDENTIAL_LABELS, describeHealth, nameOf, OUTCOME_LABELS } from './destination-health.ts'
import type { DestinationProps } from './queries.ts'
import { type DestinationStatus, destinationsKey } from './queries.ts'
import { describeRouting } from './routing-form.ts'
import { TestSection } from './test-section.tsx'

/** In a chunk of its own: few people open it, and it has many fields. */
const RoutingDialog = lazy(async () => ({
  default: (await import('./routing-dialog.tsx')).RoutingDialog,
}))

type CardProps = DestinationProps & {
  /** One of many: its details are folded until a person opens them. */
  isFolded: boolean
}

/** One destination: whether it works and what waits for it. */
export function DestinationCard({ isFolded, ...props }: CardProps) {
  const { status, platform } = props
  const [isOpen, setOpen] = useState(false)
  const { destination, target, alerts } = status
  const name = nameOf(props)
  const platformTarget = `${platform?.label ?? destination.type} ${target}`
  const { label, color, sentence } = describeHealth(status)
  const canManage = useCanManage()
  const headingId = useId()
  return (
    <Stack className="surface" p="lg" gap="md" component="section" aria-labelledby={headingId}>
      <Group justify="space-between" gap="sm">
        <Group gap="sm">
          <Title order={2} size="h4" id={headingId}>
            {name}
          </Title>
          <Badge variant="light" color={color} tt="none" fw={600} radius="sm">
            {label}
          </Badge>
          {status.test_mode_seconds_left !== null && (
            <Badge variant="light" color="yellow" tt="none" fw={600} radius="sm">
              Test mode
            </Badge>
          )}
        </Group>
        {isFolded && (
          <Button
            variant="default"
            aria-expanded={isOpen}
            aria-label={`Details of ${name}`}
            onClick={() => setOpen(!isOpen)}
          >
            Details
          </Button>
        )}
        {canManage && !isFolded && <CredentialActions {...props} />}
      </Group>
      {name !== platformTarget && (
        <Text size="sm" c="dimmed">
          {platformTarget}
        </Text>
      )}
      {sentence && (
        <Alert color={color} variant="light" role={color === 'red' ? 'alert' : 'note'}>
          {sentence}
          {status.paused_at && (
            <>
              {' '}
              Since <Time at={status.paused_at} />.
            </>
          )}
        </Alert>
      )}
      {alerts.map(({ kind, sentence: text, raised_at: raisedAt }) => (
        <Alert key={kind} color="yellow" variant="light" role="note">
          {text} Since <Time at={raisedAt} />.
        </Alert>
      ))}
      {isFolded && !isOpen ? (
        <FoldedFacts status={status} platform={platform} />
      ) : (
        <>
          {canManage && isFolded && <CredentialActions {...props} />}
          <StatusFacts {...props} />
          <RoutingSection {...props} />
          {canManage && <TestSection {...props} />}
        </>
      )}
    </Stack>
  )
}

/** What tells in a list of many whether one works. */
function FoldedFacts({ status, platform }: Pick<DestinationProps, 'status' | 'platform'>) {
  const { last_request: last, queue } = status
  return (
    <Facts
      facts={[
        ['Waiting', <Waiting key="waiting" queue={queue} />],
        [
          'Last request',
          last ? (
            <span key="last">
              {OUTCOME_LABELS[last.outcome]}, <Time at={last.at} />
            </span>
          ) : (
            'None'
          ),
        ],
        ['Events', describeEvents({ status, platform })],
      ]}
    />
  )
}

function CredentialActions({ status, platform, params, readAt }: DestinationProps) {
  const [isOpen, setOpen] = useState(false)
  const client = useQueryClient()
  const { id } = status.destination
  const isRejected = status.destination.status === 'inactive' && status.paused_at === null
  const check = useMutation({
    mutationFn: () =>
      call('POST /workspaces/:workspace/trackers/:tracker/destinations/:destination/check', {
        params: { ...params, destination: id },
      }),
    onSettled: () => client.invalidateQueries({ queryKey: destinationsKey(params) }),
  })
  return (
    <Group gap="sm">
      {check.error && <ErrorNotice error={check.error} />}
      {isRejected && status.queue.waiting > 0 && (
        <Button variant="default" loading={check.isPending} onClick={() => check.mutate()}>
          Check now
        </Button>
      )}
      <ChangeActions status={status} platform={platform} params={params} readAt={readAt} />
      <Button variant="default" onClick={() => setOpen(true)}>
        Replace the credential
      </Button>
      {isOpen && (
        <CredentialDialog
          params={params}
          status={status}
          platform={platform}
          onClose={() => setOpen(false)}
        />
      )}
    </Group>
  )
}

/** The routing, and whether the platform's own names are still to be entered. */
function describeEvents({ status, platform }: Pick<DestinationProps, 'status' | 'platform'>) {
  const { routing } = status
  const isMapped = Object.keys(routing.event_names ?? {}).length > 0
  const missing = platform?.event_names && !isMapped ? platform.event_names.label : null
  return `${describeRouting(routing)}${missing ? `; ${missing}: none yet` : ''}`
}

/** Which events it gets. */
function RoutingSection(props: DestinationProps) {
  const [isOpen, setOpen] = useState(false)
  const canManage = useCanManage()
  return (
    <Group justify="space-between" gap="sm" className="divided">
      <Facts facts={[['Events', describeEvents(props)]]} />
      {canManage && (
        <Button variant="default" onClick={() => setOpen(true)}>
          Choose events
        </Button>
      )}
      <Suspense>{isOpen && <RoutingDialog {...props} onClose={() => setOpen(false)} />}</Suspense>
    </Group>
  )
}

function StatusFacts({ status }: DestinationProps) {
  const { credential, backoff, next_check_at: nextCheck, last_request: last } = status
  const isUnreachable = backoff?.cause === 'unreachable'
  return (
    <>
      <Facts
        facts={[
          ['Credential', CREDENTIAL_LABELS[credential]],
          ['Waiting', <Waiting key="waiting" queue={status.queue} />],
          [
            isUnreachable ? 'Unreachable since' : 'Paused until',
            backoff && <Time key="backoff" at={isUnreachable ? backoff.since : backoff.until} />,
          ],
          [
            'Next check, with one event',
            nextCheck && <Time key="check" at={nextCheck} isPlanned />,
          ],
        ]}
      />
      <Facts facts={[['Last request', last ? <LastRequest key="last" last={last} /> : 'None']]} />
    </>
  )
}

function Waiting({ queue }: { queue: DestinationStatus['queue'] }) {
  const { waiting, retrying, in_flight: inFlight, oldest_at: oldest } = queue
  if (waiting === 0) return 'Nothing'
  const parts = [
    retrying > 0 && `${formatNumber(retrying)} retrying`,
    inFlight > 0 && `${formatNumber(inFlight)} being sent`,
  ].filter(part => part !== false)
  const count = `${queue.is_lower_bound ? 'At least ' : ''}${formatNumber(waiting)}`
  return (
    <>
      {count} {waiting === 1 ? 'event' : 'events'}
      {parts.length > 0 && ` (${parts.join(', ')})`}
      {oldest && (
        <>
          , the oldest from <Time at={oldest} />
        </>
      )}
    </>
  )
}

function LastRequest({ last }: { last: NonNullable<DestinationStatus['last_request']> }) {
  const { event_count: count, http_status: httpStatus, trace_id: traceId, answer } = last
  const facts = [
    formatCount(count, last.is_test ? 'test event' : 'event'),
    httpStatus === null ? 'no response' : `status ${httpStatus}`,
    `${formatNumber(last.duration_milliseconds)} ms`,
  ]
  return (
    <Stack gap={4} align="flex-start">
      <Text component="span">
        {OUTCOME_LABELS[last.outcome]}: {facts.join(', ')}, <Time at={last.at} />
      </Text>
      {traceId && <Copy text={traceId} label="Copy the trace ID" />}
      {answer && (
        <details>
          <summary>Answer of the platform</summary>
          <CopyBlock text={JSON.stringify(answer, null, 2)} label="Copy the answer" />
        </details>
      )}
    </Stack>
  )
}
