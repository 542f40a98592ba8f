import type { ReportStatus } from '@signalbox/contract/reports.ts'
import type { WaitingCounts } from '../delivery/backlog-store.ts'
import type { SentOfDay } from '../delivery/sent-counts-store.ts'
import type { DayCounts, Unavailable } from '../platforms/platform.ts'
import { type BucketInput, type BucketName, explainBuckets } from './bucket-explanations.ts'
import {
  countByEventName,
  type EventNameCounts,
  explainGap,
  type GapBreakdown,
} from './event-name-gap.ts'

/** What our side knows of one destination's UTC day. */
export interface OwnCounts {
  sent: readonly SentOfDay[]
  waiting: WaitingCounts
}

export interface ReconciliationInput extends OwnCounts {
  server: DayCounts
  /** Null when nobody asked, since nothing is missing at the platform. */
  browser: DayCounts | Unavailable | null
  /** A report of the days before shows that others send to the dataset too. */
  hasOtherSenders: boolean
}

export interface Bucket {
  /** Its part of the gap: negative when the platform has more than we. */
  count: number
  basis: 'measured' | 'estimated'
  explanation: string
}

/** `countAccepted - metaCount` is the sum of the buckets and `unexplainedResidual`, always. */
export interface DayReconciliation {
  acceptedCount: number
  platformCount: number
  eventCounts: { accepted: Record<string, number>; meta: Record<string, number> }
  buckets: Record<BucketName, Bucket>
  unexplainedResidual: number
  status: ReportStatus
}

/** Explains the gap between our count and the platform's (docs/decisions/0013). */
export function reconcileDay(sides: ReconciliationInput): DayReconciliation {
  const names = countNames(sides)
  const eventCounts = toEventCounts(names)
  const hasOtherSenders = sides.hasOtherSenders || detectOtherSenders(eventCounts)
  const accounts = [...names.values()].map(counts => explainGap(counts, { hasOtherSenders }))
  const grounds = toBucketInput(sides, names, accounts)
  return {
    acceptedCount: sum(names.values(), ({ accepted }) => accepted),
    platformCount: sum(names.values(), ({ server }) => server),
    eventCounts,
    buckets: toBuckets(accounts, grounds),
    unexplainedResidual: sum(accounts, ({ residual }) => residual),
    status: decideStatus(names, accounts, grounds.waiting),
  }
}

/** The platform told no counts, which are never taken for zero: nothing is explained. */
export function describeUnavailableDay(own: OwnCounts, sentence: string): DayReconciliation {
  const names = countByEventName({ ...own, waiting: own.waiting.names, server: {}, browser: {} })
  const acceptedCount = sum(names.values(), ({ accepted }) => accepted)
  const explanation = `The day was not compared. ${sentence}`
  const bucket: Bucket = { count: 0, basis: 'measured', explanation }
  return {
    acceptedCount,
    platformCount: 0,
    eventCounts: { accepted: toEventCounts(names).accepted, meta: {} },
    buckets: {
      test_events: bucket,
      pending: bucket,
      late_event_time: bucket,
      unknown_outcome: bucket,
      platform_deduplicated: bucket,
      other_senders: bucket,
    },
    unexplainedResidual: acceptedCount,
    status: 'unavailable',
  }
}

/** The platform counts fewer of some name than it took: what browsers sent may tell why. */
export function hasMissingEvents(sides: Omit<ReconciliationInput, 'browser'>): boolean {
  const names = countNames({ ...sides, browser: null })
  return [...names.values()].some(
    counts => explainGap(counts, { hasOtherSenders: false }).residual > 0,
  )
}

/** The platform has a name that we did not send. Every name of ours is in `accepted`, if with 0. */
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
  // Not by assignment: a name may be `__proto__`.
  return {
    accepted: Object.fromEntries(ours.map(([name, { accepted }]) => [name, accepted])),
    meta: Object.fromEntries(theirs.map(([name, { server }]) => [name, server])),
  }
}

function toBucketInput(
  { waiting, server, browser }: ReconciliationInput,
  names: Map<string, EventNameCounts>,
  accounts: readonly GapBreakdown[],
): BucketInput {
  const all = [...names.values()]
  const residuals = accounts.map(({ residual }) => residual)
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
  accounts: readonly GapBreakdown[],
  grounds: BucketInput,
): Record<BucketName, Bucket> {
  const counts: Record<BucketName, number> = {
    test_events: sum(accounts, ({ tests }) => tests),
    pending: sum(accounts, ({ pending }) => pending),
    late_event_time: sum(accounts, ({ late }) => late),
    unknown_outcome: sum(accounts, ({ unknown }) => unknown),
    platform_deduplicated: sum(accounts, ({ deduplicated }) => deduplicated),
    other_senders: sum(accounts, ({ others }) => others),
  }
  const sentences = explainBuckets(counts, grounds)
  const bucket = (name: BucketName, isMeasured: boolean): Bucket => ({
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
    other_senders: bucket(
      'other_senders',
      counts.other_senders === 0 - grounds.measuredOtherSenders,
    ),
  }
}

/** Judged by name, so that too many of one name do not make up for too few of another. */
function decideStatus(
  names: Map<string, EventNameCounts>,
  accounts: readonly GapBreakdown[],
  waiting: number,
): ReportStatus {
  if (waiting > 0) return 'pending'
  if ([...names.values()].every(({ accepted, server }) => accepted === server)) return 'matched'
  return accounts.every(({ residual }) => residual === 0) ? 'explained' : 'unexplained'
}

function sum<Item>(items: Iterable<Item>, count: (item: Item) => number): number {
  let total = 0
  for (const item of items) total += count(item)
  return total
}
