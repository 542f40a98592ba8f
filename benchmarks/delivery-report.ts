import type { BenchFindings } from './bench-plan.ts'
import type { DeliveryFigures } from './delivery.ts'
import { deliveryFaults, outageFaults } from './delivery-faults.ts'
import {
  FAULTS_MEASURES,
  LANES_MEASURES,
  OUTAGE_MEASURES,
  PLAIN_MEASURES,
} from './delivery-measures.ts'
import type { DeliveryRound } from './delivery-round.ts'
import { aimText, type Measure, measured, measuredText } from './measure.ts'
import type { OutageRound } from './outage-round.ts'
import { figureText, textTable } from './text-table.ts'
import type { WaitingDeliveries } from './waiting-deliveries.ts'

/** A table for each scenario, the figures medians of its rounds, and what did not arrive. */
export function reportDelivery(figures: DeliveryFigures): BenchFindings {
  const { machine, plain, faults, lanes, outage } = figures
  const sections = [
    section('plain', plain, { measures: PLAIN_MEASURES, line: arrivalLine }),
    section('faults', faults, { measures: FAULTS_MEASURES, line: failuresLine }),
    section('lanes', lanes, { measures: LANES_MEASURES, line: arrivalLine }),
    section('outage', outage, { measures: OUTAGE_MEASURES, line: outageLine }),
  ]
  return {
    text: [machine, ...sections.flat()].join('\n'),
    faults: [
      ...[...plain, ...faults, ...lanes].flatMap(deliveryFaults),
      ...outage.flatMap(outageFaults),
    ],
  }
}

interface SectionForm<Round> {
  measures: Measure<Round>[]
  /** What is told of each round below the table. */
  line: (round: Round) => string
}

function section<Round extends DeliveryRound | OutageRound>(
  scenario: string,
  rounds: readonly Round[],
  { measures, line }: SectionForm<Round>,
): string[] {
  const [first] = rounds
  if (!first) return []
  const { events, lanes, batchEvents } = first.load
  const medians = rounds.length === 1 ? 'one round' : `medians of ${rounds.length} rounds`
  const destinations = lanes === 1 ? 'one destination' : `${lanes} destinations`
  const rows = measures.map(measure => [
    measure.name,
    measuredText(measure, rounds),
    aimText(measure.aim, measured(measure, rounds)),
  ])
  return [
    '',
    `${scenario}: ${medians} of ${figureText(events, 0)} deliveries to ${destinations}, at most ` +
      `${figureText(batchEvents, 0)} in a request`,
    '',
    textTable(rows),
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
  return `${arrivalLine(round)}\nwaiting on its return: ${waiting}`
}

function waitingText({ status, attempts, count, notDueCount, dueSeconds }: WaitingDeliveries) {
  const times = `${attempts} ${attempts === 1 ? 'attempt' : 'attempts'}`
  const due = `${notDueCount} not due yet, the last in ${figureText(dueSeconds, 1)} s`
  return `${count} ${status} after ${times}${notDueCount === 0 ? '' : ` (${due})`}`
}
