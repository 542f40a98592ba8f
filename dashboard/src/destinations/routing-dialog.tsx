import {
  Alert,
  Button,
  Checkbox,
  Group,
  NativeSelect,
  Stack,
  Table,
  Text,
  Textarea,
  TextInput,
} from '@mantine/core'
import { ACTION_SOURCES } from '@signalbox/contract/event-context.ts'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { call, fieldErrorOf, isShownByFields } from '../api/client.ts'
import { FormDialog } from '../components/form-dialog.tsx'
import { formatCount, formatNumber } from '../components/format-count.ts'
import { describeReason } from '../overview/reason-texts.ts'
import { type DestinationPlatform, type DestinationProps, destinationsKey } from './queries.ts'
import {
  findRepeatedName,
  formOfRouting,
  type Preview,
  type RoutingForm,
  routingOfForm,
  TEST_LABELS,
} from './routing-form.ts'

const PATH = '/workspaces/:workspace/trackers/:tracker/destinations/:destination/routing'
const SHOWN_FIELDS = [
  'event_names',
  'filter.event_names',
  'filter.minimum_value.amount',
  'filter.minimum_value.currency',
]

type RoutingDialogProps = DestinationProps & { onClose: () => void }

/** Edits which events a destination gets. What is saved was previewed in the same form. */
export function RoutingDialog({ status, platform, params, onClose }: RoutingDialogProps) {
  const client = useQueryClient()
  const [form, setForm] = useState(() => formOfRouting(status.routing))
  const [previewed, setPreviewed] = useState<RoutingForm | null>(null)
  const request = {
    params: { ...params, destination: status.destination.id },
    body: routingOfForm(form),
  }
  const preview = useMutation({
    mutationFn: () => call(`POST ${PATH}/preview`, request),
    onSuccess: () => setPreviewed(form),
  })
  const save = useMutation({
    mutationFn: () => call(`PATCH ${PATH}`, request),
    onSuccess: async () => {
      await client.invalidateQueries({ queryKey: destinationsKey(params) })
      onClose()
    },
  })
  const isPreviewed = previewed === form && preview.data !== undefined
  const error = save.error ?? preview.error
  const repeated = findRepeatedName(form)
  const fields = { form, error, repeated, platform: platform?.label ?? 'the platform' }
  const ownNames = platform?.event_names ?? null
  return (
    <FormDialog
      title="Choose events"
      size="lg"
      submitLabel={isPreviewed ? 'Save' : 'Preview'}
      canSubmit={repeated === null}
      isPending={preview.isPending || save.isPending}
      error={isShownByFields(error, SHOWN_FIELDS) ? null : error}
      onSubmit={() => {
        save.reset()
        if (isPreviewed) save.mutate()
        else preview.mutate()
      }}
      onClose={onClose}
    >
      <Text size="sm">
        Events that do not match are kept and not sent to this destination. The change applies to
        events from now on.
      </Text>
      <FilterFields {...fields} onChange={setForm} />
      <MapFields {...fields} ownNames={ownNames} onChange={setForm} />
      {isPreviewed && <PreviewResult preview={preview.data} />}
    </FormDialog>
  )
}

interface FieldsProps {
  form: RoutingForm
  error: unknown
  /** A name that the map has twice. */
  repeated: string | null
  platform: string
  onChange: (form: RoutingForm) => void
}

function FilterFields({ form, error, onChange }: FieldsProps) {
  const set = (changes: Partial<RoutingForm>) => onChange({ ...form, ...changes })
  return (
    <>
      <Textarea
        label="Event names"
        description="One on each line, spelled exactly as they are sent. Empty: all names."
        autosize
        minRows={2}
        maxRows={8}
        spellCheck={false}
        value={form.names}
        onChange={({ currentTarget }) => set({ names: currentTarget.value })}
        error={fieldErrorOf(error, 'filter.event_names')}
      />
      <Checkbox.Group
        label="Action sources"
        description="None checked: all of them."
        value={form.actionSources}
        onChange={actionSources => set({ actionSources })}
      >
        <Group gap="sm" mt="xs">
          {ACTION_SOURCES.map(source => (
            <Checkbox key={source} value={source} label={source} />
          ))}
        </Group>
      </Checkbox.Group>
      <Group gap="sm" align="flex-start">
        <TextInput
          label="Value at least"
          description="Events without a value are left out."
          inputMode="decimal"
          value={form.amount}
          onChange={({ currentTarget }) => set({ amount: currentTarget.value })}
          error={fieldErrorOf(error, 'filter.minimum_value.amount')}
        />
        <TextInput
          label="Currency"
          description="Other currencies are left out."
          maxLength={3}
          value={form.currency}
          onChange={({ currentTarget }) => set({ currency: currentTarget.value })}
          error={fieldErrorOf(error, 'filter.minimum_value.currency')}
        />
      </Group>
      <Group gap="sm" align="flex-start">
        <NativeSelect
          label="Sent with"
          data={[
            { value: '', label: 'Any key' },
            { value: 'secret', label: 'The tracker secret' },
            { value: 'publishable', label: 'A publishable key' },
          ]}
          value={form.space}
          onChange={({ currentTarget }) => set({ space: currentTarget.value })}
        />
        <NativeSelect
          label="Test mode"
          data={Object.entries(TEST_LABELS).map(([value, label]) => ({ value, label }))}
          value={form.test}
          onChange={({ currentTarget }) => set({ test: currentTarget.value })}
        />
      </Group>
    </>
  )
}

type MapFieldsProps = FieldsProps & { ownNames: DestinationPlatform['event_names'] }

function MapFields({ form, error, repeated, platform, ownNames, onChange }: MapFieldsProps) {
  const { map } = form
  const replace = (index: number, entry: RoutingForm['map'][number] | null) =>
    onChange({ ...form, map: map.toSpliced(index, 1, ...(entry ? [entry] : [])) })
  const mapError = repeated ? `The map has ${repeated} twice.` : fieldErrorOf(error, 'event_names')
  return (
    <Stack gap="xs" component="fieldset" bd={0} p={0} m={0}>
      <Text component="legend" size="sm" fw={600}>
        {ownNames ? `${ownNames.label} of ${platform}` : `Names at ${platform}`}
      </Text>
      <Text size="xs" c="dimmed">
        {ownNames && `${ownNames.hint} An event that ${platform} has no name for is not sent. `}
        {!ownNames && 'Without an entry, an event is sent under its own name. '}
        An event keeps the name of its acceptance, also in a replay.
      </Text>
      {map.map((entry, index) => (
        <Group key={index} gap="xs" wrap="nowrap" align="flex-end">
          <TextInput
            aria-label={`Event name ${index + 1}`}
            placeholder="Order Completed"
            value={entry.name}
            onChange={({ currentTarget }) =>
              replace(index, { ...entry, name: currentTarget.value })
            }
            flex={1}
          />
          <TextInput
            aria-label={`Name at ${platform} ${index + 1}`}
            placeholder={ownNames ? ownNames.label : 'Purchase'}
            value={entry.target}
            onChange={({ currentTarget }) =>
              replace(index, { ...entry, target: currentTarget.value })
            }
            flex={1}
          />
          <Button
            variant="default"
            px="sm"
            aria-label={`Remove name ${index + 1}`}
            onClick={() => replace(index, null)}
          >
            Remove
          </Button>
        </Group>
      ))}
      {mapError && (
        <Text size="sm" c="red" role="alert">
          {mapError}
        </Text>
      )}
      <Group>
        <Button variant="default" onClick={() => onChange({ ...form, map: [...map, NO_ENTRY] })}>
          Map a name
        </Button>
      </Group>
    </Stack>
  )
}

const NO_ENTRY = { name: '', target: '' }

function PreviewResult({ preview }: { preview: Preview }) {
  const { events, selected, not_selected: notSelected, names, unused_names: unused } = preview
  if (events === 0) {
    return (
      <Alert role="status" variant="light" title="No events to compare">
        The tracker received no events in the last 90 days.
      </Alert>
    )
  }
  return (
    <Stack gap="xs" role="status">
      <Text size="sm" fw={600}>
        {formatNumber(selected)} of the last {formatCount(events, 'event')} would be sent, where
        consent allows it
      </Text>
      {notSelected.map(({ reason, count }) => (
        <Text key={reason} size="sm">
          {describeReason(reason)}: {formatNumber(count)}
        </Text>
      ))}
      <Table.ScrollContainer minWidth={280} tabIndex={0} type="native">
        <Table>
          <Table.Thead>
            <Table.Tr>
              <Table.Th>Event name</Table.Th>
              <Table.Th>Sent as</Table.Th>
              <Table.Th ta="right">Sent</Table.Th>
              <Table.Th ta="right">Left out</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {names.map(name => (
              <Table.Tr key={name.event_name}>
                <Table.Td>{name.event_name}</Table.Td>
                <Table.Td>{name.is_mapped ? name.platform_name : 'Its own name'}</Table.Td>
                <Table.Td ta="right">{formatNumber(name.selected)}</Table.Td>
                <Table.Td ta="right">{formatNumber(name.not_selected)}</Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </Table.ScrollContainer>
      {unused.length > 0 && (
        <Text size="sm" c="dimmed">
          None of these events has the name {unused.join(', ')}.
        </Text>
      )}
    </Stack>
  )
}
