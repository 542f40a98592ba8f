import { Button, Group, NativeSelect, TextInput } from '@mantine/core'
import { useNavigate } from '@tanstack/react-router'
import { type FormEvent, useState } from 'react'
import { useTimeZone } from '../components/time.tsx'
import { useWorkspace } from '../layout/scope.ts'
import type { EventFilters } from './event-queries.ts'
import { fromInputTime, toInputTime } from './input-time.ts'

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
    ],
  },
]

/** The filters of the list. They apply on submit and stand in the address. */
export function EventFilterForm({ filters }: { filters: EventFilters }) {
  const { id: workspace } = useWorkspace()
  const [zone] = useTimeZone()
  const navigate = useNavigate()
  const [draft, setDraft] = useState(filters)
  const hasFilters = Object.keys(filters).length > 0
  const set = (changes: EventFilters) => setDraft(current => ({ ...current, ...changes }))
  const apply = (search: EventFilters) =>
    void navigate({ to: '/w/$workspace/events', params: { workspace }, search })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    apply(draft)
  }
  const zoneName = zone === 'utc' ? 'UTC' : 'your time zone'
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
        <Field label="Order ID" value={draft.order} onChange={order => set({ order })} />
        <Field label="Parent ID" value={draft.parent} onChange={parent => set({ parent })} />
        <TextInput
          type="datetime-local"
          label={`Received from (${zoneName})`}
          value={toInputTime(draft.from, zone)}
          onChange={({ currentTarget }) => set({ from: fromInputTime(currentTarget.value, zone) })}
        />
        <TextInput
          type="datetime-local"
          label={`Received before (${zoneName})`}
          value={toInputTime(draft.to, zone)}
          onChange={({ currentTarget }) => set({ to: fromInputTime(currentTarget.value, zone) })}
        />
        <Button type="submit" variant="default">
          Apply
        </Button>
        {hasFilters && (
          <Button variant="subtle" onClick={() => apply({})}>
            Clear filters
          </Button>
        )}
      </Group>
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
