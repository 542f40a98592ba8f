import { Button, Group, NativeSelect, TextInput } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { type FormEvent, useState } from 'react'
import { fromInputTime, toInputTime } from '../components/input-time.ts'
import { useTimeZone } from '../components/time.tsx'
import { destinationsQuery } from '../destinations/queries.ts'
import { useTrackerParams } from '../layout/scope.ts'
import type { EventFilters } from './event-filters.ts'

const STATUSES = [
  { value: '', label: 'Any status' },
  { value: 'waiting', label: 'Waiting' },
  { value: 'failed', label: 'Failed' },
  { value: 'held_back', label: 'Held back' },
  { value: 'skipped', label: 'Skipped' },
  { value: 'held', label: 'Held back or skipped' },
  { value: 'accepted', label: 'accepted' },
  {
    group: 'Exactly',
    items: [
      ...['queued', 'sent', 'retrying', 'failed:auth', 'failed:permanent', 'failed:unknown'],
      ...['expired', 'skipped:consent', 'skipped:no_destination', 'skipped:duplicate'],
      'skipped:not_selected',
    ],
  },
]
const SPACES = [
  { value: '', label: 'Back end and pages' },
  { value: 'secret', label: 'Back end' },
  { value: 'publishable', label: 'Pages' },
]
const TESTS = [
  { value: '', label: 'Live and test' },
  { value: 'no', label: 'Live' },
  { value: 'yes', label: 'Test' },
]
/** Filters that are not on the line itself. */
const MORE = [
  ...(['reason', 'space', 'test', 'value', 'order', 'parent'] as const),
  ...(['event_from', 'event_to', 'from', 'to'] as const),
]

type Change = (changes: EventFilters) => void

/** The filters of the list, in one line. They stand in the address. */
export function EventFilterForm({ filters }: { filters: EventFilters }) {
  const params = useTrackerParams()
  const navigate = useNavigate()
  const [draft, setDraft] = useState(filters)
  const { data } = useQuery(destinationsQuery(params))
  const set: Change = changes => setDraft(current => ({ ...current, ...changes }))
  const apply: Change = search =>
    void navigate({ to: '/w/$workspace/events', params: { workspace: params.workspace }, search })
  const choose: Change = changes => {
    set(changes)
    apply({ ...draft, ...changes })
  }
  const submit = (event: FormEvent) => {
    event.preventDefault()
    apply(draft)
  }
  const destinations = (data?.destinations ?? []).map(({ destination, target }) => ({
    value: destination.id,
    label: `${data?.platforms.find(({ type }) => type === destination.type)?.label} ${target}`,
  }))
  const count = MORE.filter(name => filters[name]).length
  return (
    <form onSubmit={submit} aria-label="Filters" className="event-filters">
      <Choice
        label="Status"
        data={STATUSES}
        value={draft.status}
        onChange={status => choose({ status })}
      />
      {destinations.length > 1 && (
        <Choice
          label="Destination"
          data={[{ value: '', label: 'Any destination' }, ...destinations]}
          value={draft.destination}
          onChange={destination => choose({ destination })}
        />
      )}
      <Field label="Event name" value={draft.name} onChange={name => set({ name })} />
      <details className="menu">
        <summary>{count > 0 ? `More filters (${count})` : 'More filters'}</summary>
        <div className="menu-panel">
          <MoreFilters draft={draft} set={set} choose={choose} />
        </div>
      </details>
      <Button type="submit" variant="default" size="xs">
        Apply
      </Button>
      {Object.keys(filters).length > 0 && (
        <Button variant="subtle" size="xs" onClick={() => apply({})}>
          Clear filters
        </Button>
      )}
    </form>
  )
}

function MoreFilters({ draft, set, choose }: { draft: EventFilters; set: Change; choose: Change }) {
  return (
    <>
      <Group gap="xs" grow>
        <Choice
          label="Sent by"
          data={SPACES}
          value={draft.space}
          onChange={space => choose({ space })}
        />
        <Choice label="Mode" data={TESTS} value={draft.test} onChange={test => choose({ test })} />
      </Group>
      <Field label="Reason" value={draft.reason} onChange={reason => set({ reason })} />
      <Field label="Value at least" value={draft.value} onChange={value => set({ value })} />
      <Field label="Order ID" value={draft.order} onChange={order => set({ order })} />
      <Field label="Parent ID" value={draft.parent} onChange={parent => set({ parent })} />
      <TimeField
        label="Happened from"
        value={draft.event_from}
        onChange={event_from => set({ event_from })}
      />
      <TimeField
        label="Happened before"
        value={draft.event_to}
        onChange={event_to => set({ event_to })}
      />
      <TimeField label="Received from" value={draft.from} onChange={from => set({ from })} />
      <TimeField label="Received before" value={draft.to} onChange={to => set({ to })} />
    </>
  )
}

interface FieldProps {
  label: string
  value: string | undefined
  onChange: (value: string) => void
}

interface ChoiceProps extends FieldProps {
  data: NonNullable<React.ComponentProps<typeof NativeSelect>['data']>
}

function Choice({ label, data, value = '', onChange }: ChoiceProps) {
  return (
    <NativeSelect
      aria-label={label}
      size="xs"
      data={data}
      value={value}
      onChange={({ currentTarget }) => onChange(currentTarget.value)}
    />
  )
}

function Field({ label, value = '', onChange }: FieldProps) {
  return (
    <TextInput
      aria-label={label}
      placeholder={label}
      size="xs"
      value={value}
      onChange={({ currentTarget }) => onChange(currentTarget.value)}
      autoComplete="off"
      spellCheck={false}
      maxLength={128}
    />
  )
}

/** A time in the zone that the pages show. */
function TimeField({ label, value, onChange }: FieldProps) {
  const [zone] = useTimeZone()
  return (
    <TextInput
      type="datetime-local"
      size="xs"
      step={1}
      label={`${label} (${zone === 'utc' ? 'UTC' : 'your time zone'})`}
      value={toInputTime(value, zone)}
      onChange={({ currentTarget }) => onChange(fromInputTime(currentTarget.value, zone))}
    />
  )
}
