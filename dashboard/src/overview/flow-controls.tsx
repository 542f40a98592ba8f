import { Group, NativeSelect, TextInput } from '@mantine/core'
import { useNavigate } from '@tanstack/react-router'

/** What the address of the overview says. */
export interface FlowSearch {
  range?: string
  from?: string
  to?: string
  by?: string
  group?: string
  destination?: string
}

export interface FlowRange {
  from: string
  to: string
  by: 'event' | 'receipt'
}

const DAY_MILLISECONDS = 86_400_000
const RANGES = [
  { value: 'today', label: 'Today' },
  { value: 'yesterday', label: 'Yesterday' },
  { value: '7', label: 'Last 7 days' },
  { value: '30', label: 'Last 30 days' },
  { value: 'custom', label: 'Other days' },
]
const RANGE_DEFAULT = '7'

function utcDay(daysAgo: number): string {
  return new Date(Date.now() - daysAgo * DAY_MILLISECONDS).toISOString().slice(0, 10)
}

/** The chosen UTC days; the last seven by default. */
export function readRange(search: FlowSearch): FlowRange {
  const by = search.by === 'receipt' ? 'receipt' : 'event'
  const range = search.range ?? RANGE_DEFAULT
  if (range === 'custom') {
    return { from: search.from ?? utcDay(6), to: search.to ?? utcDay(0), by }
  }
  if (range === 'yesterday') return { from: utcDay(1), to: utcDay(1), by }
  const days = range === 'today' ? 1 : Number(range)
  return { from: utcDay((Number.isInteger(days) && days > 0 ? days : 7) - 1), to: utcDay(0), by }
}

export function yesterdayRange(): FlowRange {
  return { from: utcDay(1), to: utcDay(1), by: 'event' }
}

interface ControlsProps {
  search: FlowSearch
  range: FlowRange
  destinations: readonly { value: string; label: string }[]
}

/** The days, which day decides, and the groups: one line above the picture. */
export function FlowControls({ search, range, destinations }: ControlsProps) {
  const navigate = useNavigate()
  const show = (changes: FlowSearch) =>
    void navigate({ to: '.', search: { ...search, ...changes } as never })
  const isCustom = search.range === 'custom'
  return (
    <Group gap="sm" align="flex-end" className="flow-controls">
      <NativeSelect
        aria-label="Days"
        size="sm"
        value={search.range ?? RANGE_DEFAULT}
        data={RANGES}
        onChange={({ currentTarget: { value } }) =>
          show(
            value === 'custom'
              ? { range: value, from: range.from, to: range.to }
              : { range: value, from: '', to: '' },
          )
        }
      />
      {isCustom &&
        (['from', 'to'] as const).map(side => (
          <TextInput
            key={side}
            type="date"
            size="sm"
            aria-label={side === 'from' ? 'First day' : 'Last day'}
            value={range[side]}
            max={utcDay(0)}
            onChange={({ currentTarget: { value } }) => value !== '' && show({ [side]: value })}
          />
        ))}
      <NativeSelect
        aria-label="Which day decides"
        size="sm"
        value={range.by}
        data={[
          { value: 'event', label: 'By the day of the event' },
          { value: 'receipt', label: 'By the day of receipt' },
        ]}
        onChange={({ currentTarget: { value } }) => show({ by: value })}
      />
      {destinations.length > 1 && (
        <NativeSelect
          aria-label="Destination"
          size="sm"
          value={search.destination ?? ''}
          data={[{ value: '', label: 'All destinations' }, ...destinations]}
          onChange={({ currentTarget: { value } }) => show({ destination: value })}
        />
      )}
      <NativeSelect
        aria-label="Bands"
        size="sm"
        value={search.group === 'destination' ? 'destination' : 'name'}
        data={[
          { value: 'name', label: 'By event name' },
          { value: 'destination', label: 'By destination' },
        ]}
        onChange={({ currentTarget: { value } }) => show({ group: value })}
      />
    </Group>
  )
}
