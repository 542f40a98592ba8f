import type { BenchFindings, BenchPlan, Closers, DeliveryScenario } from './bench-plan.ts'
import { openBenchStore } from './bench-store.ts'
import { createDeliveryLoad } from './delivery-load.ts'
import {
  FAIRNESS_MEASURES,
  FAULTS_MEASURES,
  OUTAGE_MEASURES,
  PLAIN_MEASURES,
} from './delivery-measures.ts'
import { type DeliveryRound, measureDeliveryRound } from './delivery-round.ts'
import type { WaitingDeliveries } from './drain.ts'
import { describeMachine } from './machine.ts'
import { measureOutageRound, type OutageRound } from './outage-round.ts'
import {
  formatAim,
  formatFigure,
  formatMeasure,
  formatTable,
  type Measure,
  readMedian,
} from './report-format.ts'

/** The rounds of each scenario; empty for a skipped scenario. */
interface DeliveryFigures {
  machine: string
  plain: DeliveryRound[]
  faults: DeliveryRound[]
  fairness: DeliveryRound[]
  outage: OutageRound[]
}

/** Drains a store of queued deliveries into the simulator, several times. */
export async function measureDelivery(
  { delivery: plan }: BenchPlan,
  closers: Closers,
): Promise<DeliveryFigures> {
  const store = await openBenchStore()
  closers.push(store.close)
  const drains = (scenario: DeliveryScenario) =>
    runSequentially(plan.rounds[scenario], () =>
      measureDeliveryRound(store, createDeliveryLoad(scenario, plan), closers),
    )
  return {
    machine: await describeMachine(store.database, store.dataDirectory),
    plain: await drains('plain'),
    faults: await drains('faults'),
    fairness: await drains('fairness'),
    outage: await runSequentially(plan.rounds.outage, () =>
      measureOutageRound(
        store,
        { ...createDeliveryLoad('outage', plan), outageSeconds: plan.outageSeconds },
        closers,
      ),
    ),
  }
}

/** Runs rounds one after the other, because concurrent rounds would affect each other. */
async function runSequentially<Round>(
  count: number,
  measure: () => Promise<Round>,
): Promise<Round[]> {
  const rounds: Round[] = []
  while (rounds.length < count) rounds.push(await measure())
  return rounds
}

/** A table for each scenario with the medians of its rounds, and the delivery faults. */
export function reportDelivery(figures: DeliveryFigures): BenchFindings {
  const { machine, plain, faults, fairness, outage } = figures
  const sections = [
    section('plain', plain, { measures: PLAIN_MEASURES, line: arrivalLine }),
    section('faults', faults, { measures: FAULTS_MEASURES, line: failuresLine }),
    section('fairness', fairness, { measures: FAIRNESS_MEASURES, line: arrivalLine }),
    section('outage', outage, { measures: OUTAGE_MEASURES, line: outageLine }),
  ]
  return {
    text: [machine, ...sections.flat()].join('\n'),
    faults: [
      ...[...plain, ...faults, ...fairness].flatMap(findDeliveryFaults),
      ...outage.flatMap(findOutageFaults),
    ],
  }
}

interface SectionForm<Round> {
  measures: Measure<Round>[]
  /** The line printed for each round below the table. */
  line: (round: Round) => string
}

function section<Round extends DeliveryRound | OutageRound>(
  scenario: string,
  rounds: readonly Round[],
  { measures, line }: SectionForm<Round>,
): string[] {
  const [first] = rounds
  if (!first) return []
  const { events, destinations, batchEvents } = first.load
  const medians = rounds.length === 1 ? 'one round' : `medians of ${rounds.length} rounds`
  const targets = destinations === 1 ? 'one destination' : `${destinations} destinations`
  const rows = measures.map(measure => [
    measure.name,
    formatMeasure(measure, rounds),
    formatAim(measure.aim, readMedian(measure, rounds)),
  ])
  return [
    '',
    `${scenario}: ${medians} of ${formatFigure(events, 0)} deliveries to ${targets}, at ` +
      `most ${formatFigure(batchEvents, 0)} per request`,
    '',
    formatTable(rows),
    '',
    ...rounds.map(line),
  ]
}

function arrivalLine({ load, drained, simulator }: DeliveryRound | OutageRound): string {
  const { accepted } = drained
  return `stored ${load.events}, accepted ${accepted}, received once ${simulator.unique_events}`
}

function failuresLine(round: DeliveryRound): string {
  const { load, fired, simulator } = round
  const hits = load.failures.map(({ name }, index) => `${name} ${fired[index]}`)
  const arrival = `${arrivalLine(round)}, received again ${simulator.deduplicated}`
  return `${arrival}\nfailed: ${hits.join(', ')}`
}

function outageLine(round: OutageRound): string {
  const waiting = round.waiting.map(waitingText).join('; ') || 'nothing'
  return `${arrivalLine(round)}\npending at recovery: ${waiting}`
}

function waitingText({ status, attempts, count, notDueCount, dueSeconds }: WaitingDeliveries) {
  const times = `${attempts} ${attempts === 1 ? 'attempt' : 'attempts'}`
  const due = `${notDueCount} not due yet, the last in ${formatFigure(dueSeconds, 1)} s`
  return `${count} ${status} after ${times}${notDueCount === 0 ? '' : ` (${due})`}`
}

/** Sentences about missing, repeated or unexpected requests and events. */
export function findDeliveryFaults(round: DeliveryRound): string[] {
  const { load, drained, simulator, fired } = round
  const hits = load.failures.map((failure, index) => ({ ...failure, count: fired[index] ?? 0 }))
  const refused = hits.filter(({ keepsEvents }) => !keepsEvents)
  const refusedCount = refused.reduce((total, { count }) => total + count, 0)
  const faults = findArrivalFaults(round)
  if (simulator.refused_requests !== refusedCount) {
    faults.push(
      `The simulator refused ${simulator.refused_requests} requests instead of ` +
        `${refusedCount}.`,
    )
  }
  if (simulator.requests !== drained.requests) {
    faults.push(
      `The simulator had ${simulator.requests} requests, and the store has ${drained.requests}.`,
    )
  }
  if (hits.length > 0 && hits.every(({ count }) => count === 0)) {
    faults.push('No request failed: there were too few requests.')
  }
  return faults
}

export function findOutageFaults(round: OutageRound): string[] {
  const { drained, simulator } = round
  const faults = findArrivalFaults(round)
  if (drained.failedRequests === 0) faults.push('No request was made during the outage.')
  const keptRequests = drained.requests - drained.failedRequests
  if (simulator.requests !== keptRequests || simulator.refused_requests > 0) {
    faults.push(
      `The simulator had ${simulator.requests} requests and refused ` +
        `${simulator.refused_requests} of them; the store has ${keptRequests}.`,
    )
  }
  return faults
}

/** Every event arrives once, or again only if its outcome was unknown. */
function findArrivalFaults({ load, drained, simulator }: DeliveryRound | OutageRound): string[] {
  const { events } = load
  const { accepted, unknownEvents } = drained
  const { unique_events, deduplicated } = simulator
  const isComplete = accepted === events && unique_events === events
  if (isComplete && deduplicated <= unknownEvents) return []
  return [
    `Of ${events} deliveries, ${accepted} were accepted. The simulator has ${unique_events} ` +
      `events and ${deduplicated} duplicates; ${unknownEvents} events had an unknown outcome.`,
  ]
}
