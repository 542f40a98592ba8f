import { Alert, Button, Group, Stack, Text, TextInput, Title } from '@mantine/core'
import type { SentTestPurchase } from '@signalbox/contract/session/destinations.ts'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useCallback, useState } from 'react'
import { ApiError, call, fieldErrorOf } from '../api/client.ts'
import { Copy } from '../components/copy.tsx'
import { Countdown } from '../components/countdown.tsx'
import { ErrorNotice } from '../components/error-notice.tsx'
import { FormDialog } from '../components/form-dialog.tsx'
import { PageLink } from '../components/links.tsx'
import { nameOf } from './destination-health.ts'
import type { DestinationProps } from './queries.ts'
import { destinationsKey } from './queries.ts'

/** Test mode, and a purchase that the platform shows among its test events. */
export function TestSection(props: DestinationProps) {
  const { test_mode_seconds_left: secondsLeft } = props.status
  return (
    <Stack gap="sm" className="divided">
      <Title order={3} size="h5">
        Test mode
      </Title>
      {secondsLeft === null ? (
        <TurnOn {...props} />
      ) : (
        <>
          <TurnOff {...props} secondsLeft={secondsLeft} />
          <TestPurchase {...props} />
        </>
      )}
    </Stack>
  )
}

/** Reads the destinations and the banner again. */
function useRefresh({ params }: DestinationProps) {
  const client = useQueryClient()
  const { workspace, tracker } = params
  return useCallback(
    () => client.invalidateQueries({ queryKey: destinationsKey({ workspace, tracker }) }),
    [client, workspace, tracker],
  )
}

interface Switch {
  enabled: boolean
  test_event_code?: string
}

function useSwitch(props: DestinationProps) {
  const { id: destination } = props.status.destination
  return useMutation({
    mutationFn: (body: Switch) =>
      call('PATCH /workspaces/:workspace/trackers/:tracker/destinations/:destination/test-mode', {
        params: { ...props.params, destination },
        body,
      }),
    onSettled: useRefresh(props),
  })
}

function TurnOn(props: DestinationProps) {
  const [isAsking, setAsking] = useState(false)
  const [code, setCode] = useState(String(props.status.destination.config?.test_event_code ?? ''))
  const turnOn = useSwitch(props)
  const codeError = fieldErrorOf(turnOn.error, 'test_event_code')
  return (
    <form
      onSubmit={event => {
        event.preventDefault()
        setAsking(true)
      }}
    >
      <Stack gap="sm">
        <Text size="sm" c="dimmed" maw="42rem">
          New events are sent as test events, which the platform shows but does not count. Test mode
          turns off by itself.
        </Text>
        <Group gap="sm" align="flex-end">
          <TextInput
            label="Test event code"
            description="From the platform; one is made if you leave it empty."
            value={code}
            maxLength={100}
            spellCheck={false}
            onChange={({ currentTarget }) => setCode(currentTarget.value)}
            error={codeError}
          />
          <Button type="submit" variant="default" loading={turnOn.isPending}>
            Turn on test mode
          </Button>
        </Group>
        {turnOn.error && !codeError && <ErrorNotice error={turnOn.error} />}
      </Stack>
      {isAsking && (
        <TurnOnDialog
          {...props}
          isPending={turnOn.isPending}
          onSubmit={() =>
            turnOn.mutate(
              { enabled: true, ...(code !== '' && { test_event_code: code }) },
              { onSettled: () => setAsking(false) },
            )
          }
          onClose={() => setAsking(false)}
        />
      )}
    </form>
  )
}

type QuestionProps = DestinationProps & {
  isPending: boolean
  onSubmit: () => void
  onClose: () => void
}

/** Names what stops counting. */
function TurnOnDialog({ isPending, onSubmit, onClose, ...props }: QuestionProps) {
  const name = nameOf(props)
  return (
    <FormDialog
      title="Turn on test mode?"
      submitLabel="Turn it on"
      isPending={isPending}
      error={null}
      onSubmit={onSubmit}
      onClose={onClose}
    >
      <Text size="sm">
        Real orders and leads that arrive while test mode is on do not count for {name}: not for its
        campaigns, not in its reports, and they are not sent again later. Other destinations are not
        affected.
      </Text>
      <Text size="sm">Test mode turns off by itself after 24 hours.</Text>
    </FormDialog>
  )
}

function TurnOff({ secondsLeft, ...props }: DestinationProps & { secondsLeft: number }) {
  const turnOff = useSwitch(props)
  const refresh = useRefresh(props)
  const code = String(props.status.destination.config?.test_event_code ?? '')
  return (
    <Stack gap="sm">
      <Text size="sm">
        On for another{' '}
        <Countdown seconds={secondsLeft} since={props.readAt} onEnd={() => void refresh()} />, with
        the code <span className="code">{code}</span>.
      </Text>
      <Group gap="sm">
        <Button
          variant="default"
          loading={turnOff.isPending}
          onClick={() => turnOff.mutate({ enabled: false })}
        >
          Turn off test mode
        </Button>
        <Copy text={code} label="Copy the code" />
      </Group>
      {turnOff.error && <ErrorNotice error={turnOff.error} />}
    </Stack>
  )
}

function TestPurchase(props: DestinationProps) {
  const [value, setValue] = useState('1.00')
  const [currency, setCurrency] = useState('USD')
  const { id: destination } = props.status.destination
  const purchase = useMutation({
    mutationFn: () =>
      call(
        'POST /workspaces/:workspace/trackers/:tracker/destinations/:destination/test-purchases',
        { params: { ...props.params, destination }, body: { value, currency } },
      ),
    onSettled: useRefresh(props),
  })
  const { error } = purchase
  const hasFieldErrors = error instanceof ApiError && Object.keys(error.errors).length > 0
  return (
    <form
      onSubmit={event => {
        event.preventDefault()
        purchase.mutate()
      }}
    >
      <Stack gap="sm">
        <Text size="sm" c="dimmed">
          A test purchase names no person and is sent at once.
        </Text>
        <Group gap="sm" align="flex-end">
          <TextInput
            label="Value"
            w="7rem"
            inputMode="decimal"
            value={value}
            onChange={({ currentTarget }) => setValue(currentTarget.value)}
            error={fieldErrorOf(error, 'value')}
          />
          <TextInput
            label="Currency"
            w="6rem"
            maxLength={3}
            value={currency}
            onChange={({ currentTarget }) => setCurrency(currentTarget.value)}
            error={fieldErrorOf(error, 'currency')}
          />
          <Button type="submit" loading={purchase.isPending}>
            Send a test purchase
          </Button>
        </Group>
        {error && !hasFieldErrors && <ErrorNotice error={error} />}
        {purchase.data && <Result purchase={purchase.data} workspace={props.params.workspace} />}
      </Stack>
    </form>
  )
}

function Result({ purchase, workspace }: { purchase: SentTestPurchase; workspace: string }) {
  const isAccepted = purchase.status === 'accepted'
  const refused = purchase.reason ?? 'The platform gave no reason.'
  const title = isAccepted ? 'The platform accepted the test purchase.' : refused
  return (
    <Alert role="status" color={isAccepted ? 'brand' : 'red'} variant="light" title={title}>
      <Text size="sm">
        {!isAccepted && 'It was not accepted. '}Event{' '}
        <PageLink
          to="/w/$workspace/events/$event"
          params={{ workspace, event: purchase.event_id }}
          className="code"
          underline="always"
        >
          {purchase.event_id}
        </PageLink>
        , delivery <span className="code">{purchase.status}</span>
        {purchase.trace_id && (
          <>
            , trace ID <span className="code">{purchase.trace_id}</span>
          </>
        )}
        .
      </Text>
    </Alert>
  )
}
