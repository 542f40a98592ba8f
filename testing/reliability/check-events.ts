import type { EventKind, SubmittedEvent } from './event-load.ts'

/** A delivery with its event. An event without a delivery has a null status. */
export interface StoredEvent {
  eventId: string
  status: string | null
  attemptCount: number
  traceId: string | null
  /** Of the attempts that the store names, in order: `accepted`, `unknown`, ... */
  outcomes: string[]
  value: string
}

/** The request IDs of the copies of each event in their order; null where a platform tells none. */
export type Receipts = ReadonlyMap<string, (string | null)[]>

/** How a platform may end a delivery of each kind of event. */
export type FinalStatuses = Readonly<Record<EventKind, readonly string[]>>

export const FINAL_STATUSES: FinalStatuses = {
  purchase: ['accepted'],
  lead: ['accepted', 'failed:permanent'],
  incomplete: ['failed:permanent'],
  unreadable: ['skipped:consent'],
}

export interface PlatformOutcome {
  receipts: Receipts
  /** Default: those of a platform that refuses an event that names no one. */
  finalStatuses?: FinalStatuses
}

/** Every acknowledged event exactly once, and every delivery as the platform knows it. */
export function checkEvents(
  events: ReadonlyMap<string, SubmittedEvent>,
  stored: readonly StoredEvent[],
  { receipts, finalStatuses = FINAL_STATUSES }: PlatformOutcome,
): string[] {
  const storedById = Map.groupBy(stored, ({ eventId }) => eventId)
  const lost = [...events.values()].flatMap(({ eventId, isAcknowledged }) =>
    isAcknowledged && !storedById.has(eventId) ? `${eventId}: acknowledged and not stored` : [],
  )
  const doubled = [...storedById].flatMap(([eventId, { length }]) =>
    length > 1 ? `${eventId}: stored with ${length} deliveries` : [],
  )
  const foreign = [...receipts.keys()].flatMap(eventId =>
    storedById.has(eventId) ? [] : `${eventId}: received, and not stored in this schedule`,
  )
  const wrong = stored.flatMap(event => {
    const submitted = events.get(event.eventId)
    const problems = submitted
      ? [...checkStored(event, submitted, finalStatuses), ...checkCopies(event, receipts)]
      : ['never submitted']
    return problems.map(problem => `${event.eventId} (${event.status}): ${problem}`)
  })
  return [...lost, ...doubled, ...foreign, ...wrong]
}

function checkStored(
  { status, value }: StoredEvent,
  submitted: SubmittedEvent,
  finalStatuses: FinalStatuses,
): string[] {
  const problems: string[] = []
  const expected = finalStatuses[submitted.kind]
  if (status === null || !expected.includes(status)) {
    problems.push(`a ${submitted.kind} should be ${expected.join(' or ')}`)
  }
  if (Number(value) !== Number(submitted.value)) problems.push(`worth ${submitted.value}: ${value}`)
  return problems
}

/**
 * A copy needs a reason: the accepted attempt, one whose outcome is unknown, or a worker that was
 * lost while it had claimed the delivery.
 */
function checkCopies(event: StoredEvent, receipts: Receipts): string[] {
  const copies = receipts.get(event.eventId) ?? []
  const isAccepted = event.status === 'accepted'
  const problems: string[] = []
  const allowed = countUnknown(event) + (isAccepted ? 1 : 0)
  if (copies.length > allowed) problems.push(`received ${copies.length} times, at most ${allowed}`)
  if (!isAccepted) return problems
  if (event.outcomes.at(-1) !== 'accepted') problems.push('has no accepted attempt')
  if (copies.length === 0) problems.push('never received')
  else if (![event.traceId, null].includes(copies.at(-1) ?? null)) {
    problems.push('received again after its acceptance')
  }
  return problems
}

/** The platform refused the destination, so the attempt does not count. */
const UNCOUNTED_OUTCOMES = ['auth', 'config']

/** Attempts with an unknown outcome, and claims of lost workers, which stored no attempt. */
export function countUnknown({ attemptCount, outcomes }: StoredEvent): number {
  const counted = outcomes.filter(outcome => !UNCOUNTED_OUTCOMES.includes(outcome)).length
  const unknown = outcomes.filter(outcome => outcome === 'unknown').length
  return unknown + Math.max(0, attemptCount - counted)
}
