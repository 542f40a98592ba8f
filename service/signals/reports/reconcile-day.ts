import type { ReportStatus } from '@signalbox/contract/reports.ts'
import type { WaitingCounts } from '../delivery/backlog-store.ts'
import type { SentOfDay } from '../delivery/sent-counts-store.ts'
import type { DayCounts, Unavailable } from '../platforms/platform.ts'
import {
  type BucketInput,
  type BucketName,
  type DayBucketName,
  explainBuckets,
} from './bucket-explanations.ts'
import {
  countByEventName,
  type EventNameCounts,
  explainGap,
  type GapBreakdown,
} from './event-name-gap.ts'

/** Our counts for one destination and UTC day. */
export interface OwnCounts {
  sent: readonly SentOfDay[]
  waiting: WaitingCounts
}

export interface ReconciliationInput extends OwnCounts {
  server: DayCounts
  /** Null when not read, because no events are missing at the platform. */
  browser: DayCounts | Unavailable | null
  /** An earlier report shows other senders to the dataset. */
  hasOtherSenders: boolean
}

export interface Bucket {
  /** Its part of the gap: negative when the platform has more than we have. */
  count: number
  basis: 'measured' | 'estimated'
  explanation: string
}

/** `acceptedCount - platformCount` is always the sum of the buckets and `unexplainedResidual`. */
export interface DayReconciliation {
  acceptedCount: number
  /** Null without a report of the platform: never a zero. */
  platformCount: number | null
  eventCounts: { accepted: Record<string, number>; meta: Record<string, number> }
  /** Empty without a report of the platform. */
  buckets: Partial<Record<BucketName, Bucket>>
  unexplainedResidual: number | null
  status: ReportStatus
}

/** A day with a count of the platform. */
export interface ComparedReconciliation extends DayReconciliation {
  platformCount: number
  /** Only the results of requests tell what was refused later. */
  buckets: Record<DayBucketName, Bucket> & { platform_refused?: Bucket }
  unexplainedResidual: number
}

/** Explains the gap between our count and the platform's (docs/decisions/0013). */
export function reconcileDay(sides: ReconciliationInput): ComparedReconciliation {
  const names = countNames(sides)
  const eventCounts = toEventCounts(names)
  const hasOtherSenders = sides.hasOtherSenders || detectOtherSenders(eventCounts)
  const breakdowns = [...names.values()].map(counts => explainGap(counts, { hasOtherSenders }))
  const input = toBucketInput(sides, names, breakdowns)
  return {
    acceptedCount: sum(names.values(), ({ accepted }) => accepted),
    platformCount: sum(names.values(), ({ server }) => server),
    eventCounts,
    buckets: toBuckets(breakdowns, input),
    unexplainedResidual: sum(breakdowns, ({ residual }) => residual),
    status: decideStatus(names, breakdowns, input.waiting),
  }
}

/** The result without counts of the platform. They never count as zero: nothing is explained. */
export function describeUnavailableDay(own: OwnCounts): DayReconciliation {
  const accepted = countAcceptedByName(own)
  return {
    acceptedCount: sum(Object.values(accepted), count => count),
    platformCount: null,
    eventCounts: { accepted, meta: {} },
    buckets: {},
    unexplainedResidual: null,
    status: 'unavailable',
  }
}

/** What the platform accepted from us on the day, by its name of the event. */
export function countAcceptedByName(own: OwnCounts): Record<string, number> {
  const names = countByEventName({ ...own, waiting: own.waiting.names, server: {}, browser: {} })
  return toEventCounts(names).accepted
}

/**
 * Whether the platform counts fewer of some name than it accepted; browser counts may explain it.
 */
export function hasMissingEvents(sides: Omit<ReconciliationInput, 'browser'>): boolean {
  const names = countNames({ ...sides, browser: null })
  return [...names.values()].some(
    counts => explainGap(counts, { hasOtherSenders: false }).residual > 0,
  )
}

/**
 * Whether the platform has a name that we did not send. `accepted` has all our names, even with 0.
 */
export function detectOtherSenders({ accepted, meta }: DayReconciliation['eventCounts']): boolean {
  return Object.keys(meta).some(name => !Object.hasOwn(accepted, name))
}

function countNames({
  sent,
  waiting,
  server,
  browser,
}: ReconciliationInput): Map<string, EventNameCounts> {
  const browserCounts = browser?.kind === 'counts' ? browser.counts : {}
  return countByEventName({
    sent,
    waiting: waiting.names,
    server: server.counts,
    browser: browserCounts,
  })
}

function toEventCounts(names: Map<string, EventNameCounts>): DayReconciliation['eventCounts'] {
  const ours = [...names].filter(([, { isOurs }]) => isOurs)
  const theirs = [...names].filter(([, { server }]) => server > 0)
  // `fromEntries` is safe for a name such as `__proto__`; assignment is not.
  return {
    accepted: Object.fromEntries(ours.map(([name, { accepted }]) => [name, accepted])),
    meta: Object.fromEntries(theirs.map(([name, { server }]) => [name, server])),
  }
}

function toBucketInput(
  { waiting, server, browser }: ReconciliationInput,
  names: Map<string, EventNameCounts>,
  breakdowns: readonly GapBreakdown[],
): BucketInput {
  const all = [...names.values()]
  const residuals = breakdowns.map(({ residual }) => residual)
  return {
    sentOfOtherDays: sum(all, ({ acceptedOfOtherDays }) => acceptedOfOtherDays),
    sentOnOtherDays: sum(all, ({ acceptedOnOtherDays }) => acceptedOnOtherDays),
    unknownAttempts: sum(all, ({ unknownAttempts }) => unknownAttempts),
    waiting: sum(waiting.names, name => name.waiting),
    isWaitingTruncated: waiting.isTruncated,
    otherSenderNames: [...names].filter(([, { isOurs }]) => !isOurs).map(([name]) => name),
    measuredOtherSenders: sum(all, counts => (counts.isOurs ? 0 : counts.server)),
    surplusUnexplained: 0 - sum(residuals, residual => Math.min(residual, 0)),
    shortageUnexplained: sum(residuals, residual => Math.max(residual, 0)),
    isTruncated: server.isTruncated,
    browserProblem: browser?.kind === 'unavailable' ? browser.sentence : null,
  }
}

function toBuckets(
  breakdowns: readonly GapBreakdown[],
  input: BucketInput,
): ComparedReconciliation['buckets'] {
  const counts: Record<DayBucketName, number> = {
    test_events: sum(breakdowns, ({ tests }) => tests),
    pending: sum(breakdowns, ({ pending }) => pending),
    late_event_time: sum(breakdowns, ({ late }) => late),
    unknown_outcome: sum(breakdowns, ({ unknown }) => unknown),
    platform_deduplicated: sum(breakdowns, ({ deduplicated }) => deduplicated),
    other_senders: sum(breakdowns, ({ others }) => others),
  }
  const sentences = explainBuckets(counts, input)
  const bucket = (name: DayBucketName, isMeasured: boolean): Bucket => ({
    count: counts[name],
    basis: isMeasured ? 'measured' : 'estimated',
    explanation: sentences[name],
  })
  return {
    test_events: bucket('test_events', true),
    pending: bucket('pending', counts.pending === 0),
    late_event_time: bucket('late_event_time', true),
    unknown_outcome: bucket('unknown_outcome', false),
    platform_deduplicated: bucket('platform_deduplicated', false),
    other_senders: bucket('other_senders', counts.other_senders === 0 - input.measuredOtherSenders),
  }
}

/** Compares by name, so that extra events of one name do not hide missing events of another. */
function decideStatus(
  names: Map<string, EventNameCounts>,
  breakdowns: readonly GapBreakdown[],
  waiting: number,
): ReportStatus {
  if (waiting > 0) return 'pending'
  if ([...names.values()].every(({ accepted, server }) => accepted === server)) return 'matched'
  return breakdowns.every(({ residual }) => residual === 0) ? 'explained' : 'unexplained'
}

function sum<Item>(items: Iterable<Item>, count: (item: Item) => number): number {
  let total = 0
  for (const item of items) total += count(item)
  return total
}
