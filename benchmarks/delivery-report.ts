import type { BenchFindings } from './bench-plan.ts'
import type { DeliveryFigures } from './delivery.ts'
import type { DeliveryRound } from './delivery-round.ts'
import { aimText, type Measure, measured, measuredText } from './measure.ts'
import { figureText, textTable } from './text-table.ts'

const MEASURES: Measure<DeliveryRound>[] = [
  {
    name: 'delivered events/s',
    digits: 0,
    read: ({ eventsPerSecond }) => eventsPerSecond,
    aim: { limit: 10_000, direction: 'at least' },
  },
  {
    name: 'requests per 1,000 events',
    digits: 2,
    read: ({ simulator, events }) => (simulator.requests * 1_000) / events,
    aim: { limit: 2, direction: 'at most' },
  },
  {
    name: 'bare pipe, events/s',
    digits: 0,
    read: ({ pipeEventsPerSecond }) => pipeEventsPerSecond,
  },
  {
    name: 'delivered / bare pipe',
    digits: 2,
    read: ({ eventsPerSecond, pipeEventsPerSecond }) => eventsPerSecond / pipeEventsPerSecond,
  },
  {
    name: 'CPU s per 1,000, worker with its start',
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

/** The figures as a table, each the median of its rounds, and what did not arrive exactly once. */
export function reportDelivery({ machine, rounds }: DeliveryFigures): BenchFindings {
  const events = figureText(rounds[0]?.events ?? 0, 0)
  const text = [
    machine,
    `medians of ${rounds.length} rounds of ${events} stored deliveries`,
    '',
    textTable(
      MEASURES.map(measure => [
        measure.name,
        measuredText(measure, rounds),
        aimText(measure.aim, measured(measure, rounds)),
      ]),
    ),
    '',
    ...rounds.map(
      ({ events, accepted, simulator }) =>
        `stored ${events}, accepted ${accepted}, received once ${simulator.unique_events}`,
    ),
  ].join('\n')
  return { text, faults: rounds.flatMap(faultsOf) }
}

function faultsOf({ events, accepted, simulator }: DeliveryRound): string[] {
  const { receipts, unique_events, refused_requests } = simulator
  const isExact = [accepted, receipts, unique_events].every(count => count === events)
  if (isExact && refused_requests === 0) return []
  return [
    `Of ${events} deliveries ${accepted} were accepted; the simulator has ${unique_events} in ` +
      `${receipts} receipts and refused ${refused_requests} requests.`,
  ]
}
