import { NativeSelect } from '@mantine/core'
import { useNavigate } from '@tanstack/react-router'

interface PeriodSelectProps {
  /** The name of the period in the address. */
  name: 'hours' | 'days'
  value: number
  periods: readonly { value: number; label: string }[]
}

/** Chooses the period that a page is about. It is part of the address. */
export function PeriodSelect({ name, value, periods }: PeriodSelectProps) {
  const navigate = useNavigate()
  return (
    <NativeSelect
      aria-label="Period"
      value={String(value)}
      data={periods.map(period => ({ value: String(period.value), label: period.label }))}
      onChange={({ currentTarget }) => {
        const chosen = currentTarget.value
        const change = (before: object) => ({ ...before, [name]: chosen })
        void navigate({ to: '.', search: change } as never)
      }}
    />
  )
}
