import { Button, Group, NativeSelect, TextInput } from '@mantine/core'
import { useNavigate } from '@tanstack/react-router'
import { type FormEvent, useState } from 'react'
import { fromInputTime, toInputTime } from '../components/input-time.ts'
import { useTimeZone } from '../components/time.tsx'
import { useWorkspace } from '../layout/scope.ts'
import type { EventFilters } from './event-filters.ts'

const STATUSES = [
  { value: '', label: 'Any status' },
  { value: 'waiting', label: 'Waiting' },
  { value: 'failed', label: 'Failed' },
  { value: 'held', label: 'Held back' },
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

/** The filters of the list. They apply on submit and stand in the address. */
export function EventFilterForm({ filters }: { filters: EventFilters }) {
  const { id: workspace } = useWorkspace()
  const navigate = useNavigate()
  const [draft, setDraft] = useState(filters)
  const hasFilters = Object.keys(filters).length > 0
  const { order, parent, from, to } = filters
  const hasMore = Boolean(order || parent || from || to)
  const set = (changes: EventFilters) => setDraft(current => ({ ...current, ...changes }))
  const apply = (search: EventFilters) =>
    void navigate({ to: '/w/$workspace/events', params: { workspace }, search })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    apply(draft)
  }
  return (
    <form onSubmit={submit} aria-label="Filters">
      <Group align="flex-end" gap="sm">
        <NativeSelect
          label="Status"
          data={STATUSES}
          value={draft.status ?? ''}
          onChange={({ currentTarget }) => {
            set({ status: currentTarget.value })
            apply({ ...draft, status: currentTarget.value })
          }}
        />
        <Field label="Event name" value={draft.name} onChange={name => set({ name })} />
        <Button type="submit" variant="default">
          Apply
        </Button>
        {hasFilters && (
          <Button variant="subtle" onClick={() => apply({})}>
            Clear filters
          </Button>
        )}
      </Group>
      <details className="more" open={hasMore}>
        <summary>More filters</summary>
        <Group align="flex-end" gap="sm" mt="xs">
          <Field label="Order ID" value={draft.order} onChange={order => set({ order })} />
          <Field label="Parent ID" value={draft.parent} onChange={parent => set({ parent })} />
          <TimeField label="Received from" value={draft.from} onChange={from => set({ from })} />
          <TimeField label="Received before" value={draft.to} onChange={to => set({ to })} />
        </Group>
      </details>
    </form>
  )
}

interface FieldProps {
  label: string
  value: string | undefined
  onChange: (value: string) => void
}

function Field({ label, value = '', onChange }: FieldProps) {
  return (
    <TextInput
      label={label}
      value={value}
      onChange={({ currentTarget }) => onChange(currentTarget.value)}
      autoComplete="off"
      spellCheck={false}
      maxLength={128}
      style={{ width: '10rem' }}
    />
  )
}

/** A time in the zone that the pages show. */
function TimeField({ label, value, onChange }: FieldProps) {
  const [zone] = useTimeZone()
  return (
    <TextInput
      type="datetime-local"
      label={`${label} (${zone === 'utc' ? 'UTC' : 'your time zone'})`}
      value={toInputTime(value, zone)}
      onChange={({ currentTarget }) => onChange(fromInputTime(currentTarget.value, zone))}
    />
  )
}
