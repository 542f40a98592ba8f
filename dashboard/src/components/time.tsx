import { useLocalStorage } from '@mantine/hooks'
import { useEffect, useState } from 'react'
import { formatAbsolute, formatRelative } from './format-time.ts'
import type { TimeZone } from './input-time.ts'

/** The zone in which all pages show times; kept in the browser. */
export function useTimeZone() {
  return useLocalStorage<TimeZone>({ key: 'signalbox-time-zone', defaultValue: 'local' })
}

interface TimeProps {
  /** ISO 8601. */
  at: string
  /** By default both; relative has the absolute time on hover and for screen readers. */
  format?: 'relative' | 'absolute' | 'both'
  /** The moment is still to come. */
  isPlanned?: boolean
}

/** A moment, in the zone that the person chose. */
export function Time({ at, format = 'both', isPlanned = false }: TimeProps) {
  const [zone] = useTimeZone()
  const now = useNow()
  const time = new Date(at)
  const absolute = formatAbsolute(time, zone)
  const relative = formatRelative(time, { now, isPlanned })
  return (
    <time dateTime={at} title={absolute}>
      {format !== 'relative' && <span className="nowrap">{absolute}</span>}
      {format === 'relative' && relative}
      {format === 'both' && ' '}
      {format === 'both' && <span className="nowrap">({relative})</span>}
    </time>
  )
}

const NOW_MILLISECONDS = 30_000

/** The present, refreshed often enough for relative times. */
function useNow(everyMilliseconds = NOW_MILLISECONDS): Date {
  const [now, setNow] = useState(() => new Date())
  useEffect(() => {
    const timer = setInterval(() => setNow(new Date()), everyMilliseconds)
    return () => clearInterval(timer)
  }, [everyMilliseconds])
  return now
}
