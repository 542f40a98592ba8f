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

/** The request IDs of the copies of each event, in the order of their arrival. */
export type Receipts = ReadonlyMap<string, string[]>

/** Every acknowledged event exactly once, and every delivery as the platform knows it. */
export function checkEvents(
  events: ReadonlyMap<string, SubmittedEvent>,
  stored: readonly StoredEvent[],
  receipts: Receipts,
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
      ? [...checkStored(event, submitted), ...checkCopies(event, receipts)]
      : ['never submitted']
    return problems.map(problem => `${event.eventId} (${event.status}): ${problem}`)
  })
  return [...lost, ...doubled, ...foreign, ...wrong]
}

const FINAL_STATUSES: Record<EventKind, readonly string[]> = {
  purchase: ['accepted'],
  lead: ['accepted', 'failed:permanent'],
  incomplete: ['failed:permanent'],
  unreadable: ['skipped:consent'],
}

function checkStored({ status, value }: StoredEvent, submitted: SubmittedEvent): string[] {
  const problems: string[] = []
  if (status === null || !FINAL_STATUSES[submitted.kind].includes(status)) {
    problems.push(`a ${submitted.kind} should be ${FINAL_STATUSES[submitted.kind].join(' or ')}`)
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
  else if (copies.at(-1) !== event.traceId) problems.push('received again after its acceptance')
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
