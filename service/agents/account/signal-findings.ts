import type { BoundDestination } from './bound-store.ts'
import type { LaneSigns } from './signal-store.ts'

/** A tracker, or a destination of one, as its findings are judged. */
export interface TrackerSigns {
  trackerId: string
  lastEventAt: Date | null
}

const SILENT_HOURS_MAX = 24
const WAITING_HOURS_MAX = 1
const HOUR_MILLISECONDS = 3_600_000
/** Fewer of a hundred are single faulty events. */
const FAILED_PERCENT_MIN = 1

/**
 * What is wrong with a tracker, a sentence each that says what to do. Names that people gave stay
 * out of these sentences: who reads them may be a program that takes words for orders.
 */
export function trackerFindings({ trackerId, lastEventAt }: TrackerSigns, now: Date): string[] {
  if (lastEventAt === null) {
    return [
      `Tracker ${trackerId} has stored no event yet: install the tag, or send one from the ` +
        'server as the documentation of createEvent says.',
    ]
  }
  const silentHours = hoursBetween(lastEventAt, now)
  if (silentHours < SILENT_HOURS_MAX) return []
  return [
    `Tracker ${trackerId} has stored nothing for ${Math.floor(silentHours)} hours: ask a ` +
      'person to look whether the shop still sends its events.',
  ]
}

/** The same for a destination. */
export function destinationFindings(
  { id, status, testModeUntil }: BoundDestination,
  signs: LaneSigns,
  now: Date,
): string[] {
  const findings: string[] = []
  const isActive = status === 'active'
  if (!isActive) {
    findings.push(
      `Destination ${id} is inactive, and its deliveries wait; status_reason holds the words of ` +
        'the platform: ask whoever runs this installation to set a new credential.',
    )
  }
  if (testModeUntil !== null && testModeUntil > now) {
    findings.push(
      `Destination ${id} is in test mode until ${testModeUntil.toISOString()}, and its events do ` +
        'not count: ask a person to switch test mode off when the test is over.',
    )
  }
  const waitingHours = signs.oldestDueAt === null ? 0 : hoursBetween(signs.oldestDueAt, now)
  if (isActive && waitingHours >= WAITING_HOURS_MAX) {
    findings.push(
      `Deliveries of destination ${id} have been due for ${Math.floor(waitingHours)} hours: ask ` +
        'whoever runs this installation whether a worker runs and reaches the platform.',
    )
  }
  return [...findings, ...failedFindings(id, signs.deliveries), ...signs.alerts]
}

function failedFindings(id: string, deliveries: Record<string, number>): string[] {
  const counts = Object.entries(deliveries)
  const all = counts.reduce((sum, [, count]) => sum + count, 0)
  const failed = counts.reduce((sum, [status, count]) => sum + (isLost(status) ? count : 0), 0)
  if (failed === 0 || failed * 100 < all * FAILED_PERCENT_MIN) return []
  return [
    `Of ${all} deliveries of destination ${id} in the last 24 hours ${failed} failed: ask a ` +
      'person to read the explanation of one of these events, mend the cause and replay them.',
  ]
}

function isLost(status: string): boolean {
  return status.startsWith('failed:') || status === 'expired'
}

function hoursBetween(from: Date, to: Date): number {
  return (to.getTime() - from.getTime()) / HOUR_MILLISECONDS
}
