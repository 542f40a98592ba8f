import type { DeliveryCost } from './delivery-cost.ts'
import type { DeliveryRound } from './delivery-round.ts'
import type { Drained, DrainedLane } from './drain.ts'
import type { Measure } from './measure.ts'
import { median } from './median.ts'
import type { OutageRound } from './outage-round.ts'

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
  ...againstPipe('delivered', eventsPerSecond),
  ...costs('worker with its start'),
]

export const FAULTS_MEASURES: Measure<DeliveryRound>[] = [
  { name: 'delivered events/s, all waits included', digits: 0, read: eventsPerSecond },
  {
    name: '90 % settled after s',
    digits: 1,
    read: ({ drained }) => secondsInto(drained, drained.mostlyAt),
  },
  {
    name: 'all settled after s',
    digits: 1,
    read: ({ drained }) => secondsInto(drained, drained.endedAt),
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
  ...againstPipe('delivered', eventsPerSecond),
  ...costs('worker with its start'),
]

export const LANES_MEASURES: Measure<DeliveryRound>[] = [
  { name: 'delivered events/s', digits: 0, read: eventsPerSecond },
  { name: 'requests per 1,000 events', digits: 2, read: requestsPerThousand },
  {
    name: 'first lane done after s',
    digits: 2,
    read: ({ drained }) => Math.min(...laneSeconds(drained, 'doneAt')),
  },
  {
    name: 'half of the lanes done after s',
    digits: 2,
    read: ({ drained }) => median(laneSeconds(drained, 'doneAt')),
  },
  {
    name: 'last lane done after s',
    digits: 2,
    read: ({ drained }) => Math.max(...laneSeconds(drained, 'doneAt')),
  },
  {
    name: 'longest wait for a first request, s',
    digits: 2,
    read: ({ drained }) => Math.max(...laneSeconds(drained, 'firstRequestAt')),
  },
  ...againstPipe('delivered', eventsPerSecond),
  ...costs('worker with its start'),
]

export const OUTAGE_MEASURES: Measure<OutageRound>[] = [
  { name: 'platform gone for s', digits: 1, read: ({ goneSeconds }) => goneSeconds },
  { name: 'requests in vain meanwhile', digits: 0, read: ({ drained }) => drained.vainRequests },
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
  ...againstPipe('from being asked on', askedEventsPerSecond),
  ...costs('worker'),
]

function againstPipe<Round extends { pipeEventsPerSecond: number }>(
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

function costs(worker: string): Measure<DeliveryCost>[] {
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
  return load.events / secondsInto(drained, drained.endedAt)
}

function askedEventsPerSecond({ load, drainSeconds, noticedSeconds }: OutageRound): number {
  return load.events / (drainSeconds - noticedSeconds)
}

function requestsPerThousand({ simulator, load }: DeliveryRound | OutageRound): number {
  return (simulator.requests * 1_000) / load.events
}

function secondsInto({ startedAt }: Drained, at: Date): number {
  return (at.getTime() - startedAt.getTime()) / 1_000
}

function laneSeconds(drained: Drained, moment: keyof DrainedLane): number[] {
  return drained.lanes.map(lane => secondsInto(drained, lane[moment]))
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0)
}
