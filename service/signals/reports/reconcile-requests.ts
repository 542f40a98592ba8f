import type { ReportStatus } from '@signalbox/contract/reports.ts'
import type { RequestsOfDay } from '../delivery/receipt-store.ts'
import { countNoun } from './bucket-explanations.ts'
import type { Bucket, ComparedReconciliation, OwnCounts } from './reconcile-day.ts'

/** Our counts, and what the platform told about the requests of the day. */
export interface RequestReconciliation {
  own: OwnCounts
  requests: RequestsOfDay
  /** The platform's codes for an event that it had before. */
  duplicateReasons: readonly string[]
}

/**
 * Explains the gap for a platform that tells the results of requests instead of counts of a day. It
 * counts by the day of sending and names no event, so nothing is late and no name is compared. A
 * request that failed as a whole has failed its deliveries, which are not accepted any more.
 */
export function reconcileRequests(
  { own, requests, duplicateReasons }: RequestReconciliation,
  acceptedByName: Record<string, number>,
): ComparedReconciliation {
  const { knownEvents, processedEvents, processingEvents, unknownEvents } = requests
  const acceptedCount = Object.values(acceptedByName).reduce((sum, count) => sum + count, 0)
  const missing = knownEvents - processedEvents
  const copies = requests.partialRefusals
    .filter(({ reason }) => duplicateReasons.includes(reason))
    .reduce((sum, { count }) => sum + count, 0)
  const deduplicated = Math.min(missing, copies)
  const counts = {
    pending: processingEvents,
    unknown: unknownEvents,
    refused: missing - deduplicated,
    deduplicated,
  }
  const gap = acceptedCount - processedEvents
  const residual = gap - missing - processingEvents - unknownEvents
  const waiting = own.waiting.names.reduce((sum, name) => sum + name.waiting, 0)
  return {
    acceptedCount,
    platformCount: processedEvents,
    eventCounts: { accepted: acceptedByName, meta: {} },
    buckets: toBuckets(requests, { counts, waiting, residual }),
    unexplainedResidual: residual,
    status: decideStatus({ isPending: waiting + processingEvents > 0, gap, residual }),
  }
}

interface Explained {
  counts: { pending: number; unknown: number; refused: number; deduplicated: number }
  waiting: number
  residual: number
}

function decideStatus({
  isPending,
  gap,
  residual,
}: {
  isPending: boolean
  gap: number
  residual: number
}): ReportStatus {
  if (isPending) return 'pending'
  if (gap === 0) return 'matched'
  return residual === 0 ? 'explained' : 'unexplained'
}

function toBuckets(
  { partialRefusals }: RequestsOfDay,
  { counts, waiting, residual }: Explained,
): Required<ComparedReconciliation['buckets']> {
  const measured = (count: number, explanation: string): Bucket => ({
    count,
    basis: 'measured',
    explanation,
  })
  const { pending, unknown, refused, deduplicated } = counts
  return {
    test_events: measured(0, 'Test events are only validated by the platform, and not counted.'),
    pending: measured(pending, explainPending(pending, waiting)),
    late_event_time: measured(0, 'The platform counts by request, on the day of sending.'),
    unknown_outcome: measured(
      unknown,
      unknown === 0
        ? 'The platform told the result of every request that has ended.'
        : `The platform told no result for requests with ${countNoun(unknown)} within a day.`,
    ),
    platform_refused: measured(refused, explainRefused(refused, partialRefusals)),
    platform_deduplicated: measured(
      deduplicated,
      deduplicated === 0
        ? 'The platform named no event that it had before.'
        : `The platform had ${countNoun(deduplicated)} before, under the same ID.`,
    ),
    other_senders: measured(
      0,
      residual === 0
        ? 'The results are of our own requests only.'
        : `${countNoun(Math.abs(residual))} of the accepted ones belong to no request of the day ` +
            'with a result: they were accepted before results were kept, or their results expired.',
    ),
  }
}

function explainPending(pending: number, waiting: number): string {
  const told =
    pending === 0
      ? 'Every request of the day has ended.'
      : `The platform has not told the result of requests with ${countNoun(pending)}.`
  return waiting === 0 ? told : `${told} ${countNoun(waiting)} of this day still wait to be sent.`
}

const REASONS_SHOWN_MAX = 10

function explainRefused(refused: number, reasons: RequestsOfDay['partialRefusals']): string {
  if (refused === 0) return 'The platform refused no event of a request that it took.'
  const listed = reasons
    .slice(0, REASONS_SHOWN_MAX)
    .map(({ reason, count }) => `${count} ${reason}`)
  const codes = listed.length === 0 ? 'it names no reason' : listed.join(', ')
  return (
    `The platform took the requests and later refused ${countNoun(refused)} of them (${codes}). ` +
    'It does not say which.'
  )
}
