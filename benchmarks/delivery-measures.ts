import type { DeliveryRound } from './delivery-round.ts'
import type { DrainedTracker, DrainResult } from './drain.ts'
import type { OutageRound } from './outage-round.ts'
import type { DeliveryCost } from './process-cost.ts'
import { type Measure, median } from './report-format.ts'

/** The aims are the specification's. They hold for full requests to one destination. */
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
  ...costMeasures('worker with its start'),
]

export const FAULTS_MEASURES: Measure<DeliveryRound>[] = [
  { name: 'delivered events/s, all waits included', digits: 0, read: eventsPerSecond },
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
  ...costMeasures('worker with its start'),
]

export const LANES_MEASURES: Measure<DeliveryRound>[] = [
  { name: 'delivered events/s', digits: 0, read: eventsPerSecond },
  { name: 'requests per 1,000 events', digits: 2, read: requestsPerThousand },
  {
    name: 'first lane done after s',
    digits: 2,
    read: ({ drained }) => Math.min(...trackerSeconds(drained, 'doneAt')),
  },
  {
    name: 'half of the lanes done after s',
    digits: 2,
    read: ({ drained }) => median(trackerSeconds(drained, 'doneAt')),
  },
  {
    name: 'last lane done after s',
    digits: 2,
    read: ({ drained }) => Math.max(...trackerSeconds(drained, 'doneAt')),
  },
  {
    name: 'longest wait for a first request, s',
    digits: 2,
    read: ({ drained }) => Math.max(...trackerSeconds(drained, 'firstRequestAt')),
  },
  ...platformLimitMeasures('delivered', eventsPerSecond),
  ...costMeasures('worker with its start'),
]

export const OUTAGE_MEASURES: Measure<OutageRound>[] = [
  { name: 'platform gone for s', digits: 1, read: ({ outageSeconds: goneSeconds }) => goneSeconds },
  { name: 'requests in vain meanwhile', digits: 0, read: ({ drained }) => drained.failedRequests },
  {
    name: 'asked again after its return, s',
    digits: 1,
    read: ({ noticedSeconds }) => noticedSeconds,
  },
  {
    name: 'all settled after its return, s',
    digits: 1,
    read: ({ drainSeconds }) => drainSeconds,
  },
  { name: 'events/s from being asked on', digits: 0, read: askedEventsPerSecond },
  { name: 'requests per 1,000 events', digits: 2, read: requestsPerThousand },
  ...platformLimitMeasures('from being asked on', askedEventsPerSecond),
  ...costMeasures('worker'),
]

function platformLimitMeasures<Round extends { pipeEventsPerSecond: number }>(
  name: string,
  speed: (round: Round) => number,
): Measure<Round>[] {
  return [
    {
      name: 'bare pipe, events/s',
      digits: 0,
      read: ({ pipeEventsPerSecond }) => pipeEventsPerSecond,
    },
    {
      name: `${name} / bare pipe`,
      digits: 2,
      read: round => speed(round) / round.pipeEventsPerSecond,
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
  return drained.lanes.map(destination => secondsSinceStart(drained, destination[moment]))
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0)
}
