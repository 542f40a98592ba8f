import { Badge, Group, Stack, Text, Title } from '@mantine/core'
import type { StartChecklist, StartStep } from '@signalbox/contract/session/start.ts'
import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { call } from '../api/client.ts'
import { CodeTabs } from '../components/code-tabs.tsx'
import { CopyBlock } from '../components/copy.tsx'
import { ErrorNotice } from '../components/error-notice.tsx'
import { firstEventSnippets } from '../components/first-event-command.ts'
import { PageLink } from '../components/links.tsx'
import { Time } from '../components/time.tsx'
import type { TrackerParams } from '../destinations/queries.ts'
import { verificationCommand } from './snippets.ts'

const REFRESH_MILLISECONDS = 2_000

/** Waits for each step and ticks it when it happens. */
export function Checklist({ params }: { params: TrackerParams }) {
  const { data, error } = useQuery({
    queryKey: ['start', params],
    queryFn: ({ signal }) =>
      call('GET /workspaces/:workspace/trackers/:tracker/start', { params, signal }),
    refetchInterval: ({ state }) => (state.data?.is_complete ? false : REFRESH_MILLISECONDS),
  })
  const next = data?.steps.find(({ is_done: isDone }) => !isDone)?.step
  return (
    <Stack className="surface" p="lg" gap="md" component="section" aria-label="Checklist">
      <div role="status">
        <Title order={2} size="h4">
          {data?.is_complete ? 'Everything works' : 'Checklist'}
        </Title>
        <Text c="dimmed">
          {data && summaryOf(data)} {!data?.is_complete && 'This page updates by itself.'}
        </Text>
      </div>
      {error && !data && <ErrorNotice error={error} />}
      <ol className="steps">
        {data?.steps.map(state => (
          <Step key={state.step} state={state} isNext={state.step === next} params={params} />
        ))}
      </ol>
    </Stack>
  )
}

function summaryOf({ steps }: StartChecklist): string {
  const done = steps.filter(({ is_done: isDone }) => isDone).length
  return `${done} of ${steps.length} steps are done.`
}

interface StepProps {
  state: StartChecklist['steps'][number]
  isNext: boolean
  params: TrackerParams
}

function Step({ state, isNext, params }: StepProps) {
  const { title, note, hint, action } = STEPS[state.step]
  const { label, color } = state.is_done ? BADGES.done : isNext ? BADGES.next : BADGES.later
  return (
    <li>
      <Group gap="sm" align="flex-start" wrap="nowrap">
        <Badge variant="light" color={color} tt="none" fw={600} radius="sm" w="4.5rem" flex="none">
          {label}
        </Badge>
        <Stack gap="xs" flex={1} miw={0}>
          <Text fw={600} lh={1.2} component="h3">
            {title}
          </Text>
          <Text size="sm" maw="42rem">
            {note} {!state.is_done && hint}
          </Text>
          {state.at && (
            <Text size="sm" c="dimmed">
              <Time at={state.at} />
            </Text>
          )}
          {!state.is_done && action?.(params, isNext)}
        </Stack>
      </Group>
    </li>
  )
}

const BADGES = {
  done: { label: 'Done', color: 'brand' },
  next: { label: 'Next', color: 'yellow' },
  later: { label: 'To do', color: 'gray' },
} as const

interface StepText {
  title: string
  /** What the step proves. */
  note: string
  /** What to mind until it is done. */
  hint?: string
  /** What to do, shown until the step is done. */
  action?: (params: TrackerParams, isNext: boolean) => ReactNode
}

/** Open for the next step; the commands of later steps would hide where one is. */
function Command({ isOpen, children }: { isOpen: boolean; children: ReactNode }) {
  if (isOpen) return children
  return (
    <details>
      <summary>Show the command</summary>
      {children}
    </details>
  )
}

const toDestinations = (label: string) =>
  function DestinationsLink({ workspace }: TrackerParams) {
    return (
      <PageLink to="/w/$workspace/destinations" params={{ workspace }}>
        {label}
      </PageLink>
    )
  }

const STEPS: Record<StartStep, StepText> = {
  key_issued: {
    title: 'A secret is issued',
    note: 'Your server sends events with it.',
  },
  verification_received: {
    title: 'The verification event arrived',
    note:
      'It proves that the secret is valid and that your server reaches Signalbox. It is no ' +
      'evidence that the events of your shop arrive.',
    action: (_, isNext) => (
      <Command isOpen={isNext}>
        <CopyBlock text={verificationCommand()} label="Copy the command" />
      </Command>
    ),
  },
  destination_connected: {
    title: 'A destination is connected',
    note: 'An advertising platform, with its ID there and a credential.',
    action: toDestinations('Connect a destination'),
  },
  test_purchase_accepted: {
    title: 'The platform accepted a test purchase',
    note: 'It proves that the access token is valid.',
    hint: 'Turn on test mode to send one.',
    action: toDestinations('Send a test purchase'),
  },
  event_received: {
    title: 'The first event of your shop arrived',
    note: 'Tests and the verification event do not count here.',
    hint: 'Turn off test mode first, so that the platform counts the event.',
    action: (_, isNext) => (
      <Command isOpen={isNext}>
        <CodeTabs snippets={firstEventSnippets()} />
      </Command>
    ),
  },
  delivery_accepted: {
    title: 'The platform accepted an event',
    note: 'Events that may be used for advertising are sent within seconds.',
    action: toDestinations('See what waits, and why'),
  },
}
