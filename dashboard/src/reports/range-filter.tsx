import { Button, Group, NativeSelect, TextInput } from '@mantine/core'
import { useNavigate } from '@tanstack/react-router'
import { type ReactNode, useState } from 'react'
import type { ReportSearch } from './report-search.ts'

interface RangeFilterProps {
  search: ReportSearch
  /** The days that are shown. */
  range: { from: string; to: string }
  destinations: readonly { id: string; label: string }[]
  chosen: string
  /** Buttons at the end of the line. */
  children?: ReactNode
}

const PRESETS = [7, 30, 90]
const DAY_MILLISECONDS = 86_400_000

/** The days and the destination of a report; they are in the address of the page. */
export function RangeFilter({ search, range, destinations, ...props }: RangeFilterProps) {
  const { chosen, children } = props
  const navigate = useNavigate({ from: '/w/$workspace/reports' })
  const [from, setFrom] = useState(range.from)
  const [to, setTo] = useState(range.to)
  const show = (changes: Partial<ReportSearch>) =>
    void navigate({ search: { ...search, ...changes } })
  return (
    <form
      onSubmit={event => {
        event.preventDefault()
        show({ from, to })
      }}
    >
      <Group align="flex-end" gap="sm">
        {destinations.length > 1 && (
          <NativeSelect
            label="Destination"
            size="xs"
            maw="20rem"
            data={destinations.map(({ id, label }) => ({ value: id, label }))}
            value={chosen}
            onChange={event => show({ destination: event.currentTarget.value })}
          />
        )}
        <TextInput
          type="date"
          size="xs"
          label="From"
          value={from}
          max={to}
          onChange={event => setFrom(event.currentTarget.value)}
        />
        <TextInput
          type="date"
          size="xs"
          label="To"
          value={to}
          min={from}
          onChange={event => setTo(event.currentTarget.value)}
        />
        <Button type="submit" variant="default" size="xs">
          Show
        </Button>
        {PRESETS.map(days => (
          <Button
            key={days}
            variant="subtle"
            size="xs"
            px="xs"
            onClick={() => {
              const today = new Date()
              const first = new Date(today.getTime() - (days - 1) * DAY_MILLISECONDS)
              show({ from: toDay(first), to: toDay(today) })
            }}
          >
            {days} days
          </Button>
        ))}
        {children && <div style={{ marginInlineStart: 'auto' }}>{children}</div>}
      </Group>
    </form>
  )
}

function toDay(time: Date): string {
  return time.toISOString().slice(0, 10)
}
