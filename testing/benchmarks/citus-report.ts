import type { BenchFindings } from './bench-plan.ts'
import { type CitusFigures, type CitusLoad, type CitusRound, PLACES, type Place } from './citus.ts'
import { type Aim, formatAim, formatFigure, formatTable, median } from './report-format.ts'

/** The ratio of a commit at the owning node to a commit on plain PostgreSQL. */
const AIM: Aim = { limit: 1.5, direction: 'at most' }
const HEADS: Record<Place, string> = {
  plain: 'PostgreSQL',
  owner: 'owning node',
  coordinator: 'coordinator',
}
const SEEN_ROWS = 1_000

/** A table for each number of trackers, with a column for each target. */
export function reportCitus(figures: CitusFigures | string): BenchFindings {
  if (typeof figures === 'string')
    return { text: `Skipped: ${figures}.`, faults: [], isSkipped: true }
  const { machine, plan, loads, stores } = figures
  const { rows, commits } = plan
  const text = [
    machine,
    `${formatFigure(commits, 0)} commits of ${formatFigure(rows, 0)} purchases at each target, ` +
      'one in flight, alternating targets; medians; CPU and WAL of all servers of a target',
    ...loads.flatMap(load => ['', loadTable(load, rows), '', aimedText(load)]),
    '',
    ...stores.map(
      ({ name, stored, committed }) => `${name}: rows ${stored}, committed ${committed}`,
    ),
  ].join('\n')
  return { text, faults: stores.flatMap(findFaults) }
}

function loadTable({ trackers, rounds }: CitusLoad, rows: number): string {
  const line = (name: string, digits: number, read: (place: Place) => number | null) => [
    name,
    ...PLACES.map(place => formatFigure(read(place), digits)),
  ]
  return formatTable([
    [`${formatFigure(trackers, 0)} tracker${trackers === 1 ? '' : 's'}`, ...Object.values(HEADS)],
    line('commit, ms', 1, place => median(rounds.map(round => round[place].milliseconds))),
    line('    to PostgreSQL', 2, place => timeRatio(rounds, place)),
    line('server CPU s/1,000 rows', 3, place => cpuSeconds(rounds, { place, rows })),
    line('    to PostgreSQL', 2, place => cpuRatio(rounds, place)),
    line(
      'WAL bytes per row',
      0,
      place => median(rounds.map(round => round[place].walBytes)) / rows,
    ),
  ])
}

/** Machine noise affects a whole round, so commits are compared within their round. */
function timeRatio(rounds: readonly CitusRound[], place: Place): number {
  return median(rounds.map(round => round[place].milliseconds / round.plain.milliseconds))
}

/** Over all rounds, because one commit takes only a few ticks of the CPU clock. */
function cpuSeconds(
  rounds: readonly CitusRound[],
  { place, rows }: { place: Place; rows: number },
): number | null {
  const known = rounds.map(round => round[place].cpuSeconds).filter(seconds => seconds !== null)
  if (known.length === 0) return null
  const sum = known.reduce((total, seconds) => total + seconds, 0)
  return (sum * SEEN_ROWS) / (known.length * rows)
}

function cpuRatio(rounds: readonly CitusRound[], place: Place): number | null {
  const [its, plain] = [place, 'plain' as const].map(at =>
    cpuSeconds(rounds, { place: at, rows: 1 }),
  )
  return its && plain ? its / plain : null
}

function aimedText({ rounds, trackers }: CitusLoad): string {
  const ratio = timeRatio(rounds, 'owner')
  const of = `${formatFigure(trackers, 0)} tracker${trackers === 1 ? '' : 's'}`
  return `${of}, owning node to PostgreSQL ${formatFigure(ratio, 2)}: ${formatAim(AIM, ratio)}`
}

function findFaults({ name, stored, committed }: CitusFigures['stores'][number]): string[] {
  return stored === committed
    ? []
    : [`${committed} were committed to ${name} and ${stored} are stored.`]
}
