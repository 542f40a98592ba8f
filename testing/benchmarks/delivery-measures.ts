import type { DeliveryRound } from './delivery-round.ts'
import type { DrainedTracker, DrainResult } from './drain.ts'
import type { OutageRound } from './outage-round.ts'
import type { DeliveryCost } from './process-cost.ts'
import { type Measure, median } from './report-format.ts'

/** The targets apply to full requests to one destination. */
export const PLAIN_MEASURES: Measure<DeliveryRound>[] = [
  {
    name: 'delivered events/s',
    digits: 0,
    read: eventsPerSecond,
    aim: { limit: 10_000, direction: 'at least' },
  },
  {
    name: 'requests per 1,000 events',
    digits: 2,
    read: requestsPerThousand,
    aim: { limit: 2, direction: 'at most' },
  },
  ...platformLimitMeasures('delivered', eventsPerSecond),
  ...costMeasures('worker, including startup'),
]

export const FAULTS_MEASURES: Measure<DeliveryRound>[] = [
  { name: 'delivered events/s, waits included', digits: 0, read: eventsPerSecond },
  {
    name: '90 % settled after s',
    digits: 1,
    read: ({ drained }) => secondsSinceStart(drained, drained.mostlyAt),
  },
  {
    name: 'all settled after s',
    digits: 1,
    read: ({ drained }) => secondsSinceStart(drained, drained.endedAt),
  },
  {
    name: 'requests that failed, %',
    digits: 1,
    read: ({ fired, simulator }) => (100 * sum(fired)) / simulator.requests,
  },
  { name: 'requests per 1,000 events', digits: 2, read: requestsPerThousand },
  {
    name: 'received again per 1,000 events',
    digits: 1,
    read: ({ simulator, load }) => (simulator.deduplicated * 1_000) / load.events,
  },
  ...platformLimitMeasures('delivered', eventsPerSecond),
  ...costMeasures('worker, including startup'),
]

export const FAIRNESS_MEASURES: Measure<DeliveryRound>[] = [
  { name: 'delivered events/s', digits: 0, read: eventsPerSecond },
  { name: 'requests per 1,000 events', digits: 2, read: requestsPerThousand },
  {
    name: 'first destination done after s',
    digits: 2,
    read: ({ drained }) => Math.min(...trackerSeconds(drained, 'doneAt')),
  },
  {
    name: 'half of the destinations done after s',
    digits: 2,
    read: ({ drained }) => median(trackerSeconds(drained, 'doneAt')),
  },
  {
    name: 'last destination done after s',
    digits: 2,
    read: ({ drained }) => Math.max(...trackerSeconds(drained, 'doneAt')),
  },
  {
    name: 'longest wait for a first request, s',
    digits: 2,
    read: ({ drained }) => Math.max(...trackerSeconds(drained, 'firstRequestAt')),
  },
  ...platformLimitMeasures('delivered', eventsPerSecond),
  ...costMeasures('worker, including startup'),
]

export const OUTAGE_MEASURES: Measure<OutageRound>[] = [
  { name: 'outage, s', digits: 1, read: ({ outageSeconds }) => outageSeconds },
  {
    name: 'failed requests during the outage',
    digits: 0,
    read: ({ drained }) => drained.failedRequests,
  },
  {
    name: 'first request after recovery, s',
    digits: 1,
    read: ({ noticedSeconds }) => noticedSeconds,
  },
  {
    name: 'all settled after recovery, s',
    digits: 1,
    read: ({ drainSeconds }) => drainSeconds,
  },
  { name: 'events/s from the first request', digits: 0, read: askedEventsPerSecond },
  { name: 'requests per 1,000 events', digits: 2, read: requestsPerThousand },
  ...platformLimitMeasures('from the first request', askedEventsPerSecond),
  ...costMeasures('worker'),
]

function platformLimitMeasures<Round extends { limitEventsPerSecond: number }>(
  name: string,
  speed: (round: Round) => number,
): Measure<Round>[] {
  return [
    {
      name: 'platform limit, events/s',
      digits: 0,
      read: ({ limitEventsPerSecond }) => limitEventsPerSecond,
    },
    {
      name: `${name} / platform limit`,
      digits: 2,
      read: round => speed(round) / round.limitEventsPerSecond,
    },
  ]
}

function costMeasures(worker: string): Measure<DeliveryCost>[] {
  return [
    {
      name: `CPU s per 1,000, ${worker}`,
      digits: 3,
      read: ({ workerCpuSeconds }) => workerCpuSeconds,
    },
    {
      name: 'CPU s per 1,000, PostgreSQL',
      digits: 3,
      read: ({ storeCpuSeconds }) => storeCpuSeconds,
    },
    {
      name: 'memory of the worker, peak MB',
      digits: 0,
      read: ({ memory }) => memory?.peakMegabytes ?? null,
    },
  ]
}

/** From the first claim to the last settled row. */
function eventsPerSecond({ load, drained }: DeliveryRound): number {
  return load.events / secondsSinceStart(drained, drained.endedAt)
}

function askedEventsPerSecond({ load, drainSeconds, noticedSeconds }: OutageRound): number {
  return load.events / (drainSeconds - noticedSeconds)
}

function requestsPerThousand({ simulator, load }: DeliveryRound | OutageRound): number {
  return (simulator.requests * 1_000) / load.events
}

function secondsSinceStart({ startedAt }: DrainResult, at: Date): number {
  return (at.getTime() - startedAt.getTime()) / 1_000
}

function trackerSeconds(drained: DrainResult, moment: keyof DrainedTracker): number[] {
  return drained.trackers.map(tracker => secondsSinceStart(drained, tracker[moment]))
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0)
}
