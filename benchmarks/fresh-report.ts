import type { BenchFindings } from './bench-plan.ts'
import type { BacklogSample, FreshFigures, FreshRun } from './fresh.ts'
import { type Aim, aimText } from './measure.ts'
import { figureText, textTable } from './text-table.ts'

/** Of the age of the oldest due delivery, once the program has found its pace. */
const BACKLOG_AIM: Aim = { limit: 2, direction: 'at most' }
const SETTLING_SECONDS = 10

/** The figures as a table, a column for each size of history. */
export function reportFresh({
  machine,
  connections,
  topPerSecond,
  runs,
}: FreshFigures): BenchFindings {
  const row = (name: string, digits: number, read: (run: FreshRun) => number | null) => [
    name,
    ...runs.map(run => figureText(read(run), digits)),
  ]
  const text = [
    machine,
    `npm start on a store of its own for each column, ${connections} connections, at half of the ` +
      `top speed of ${figureText(topPerSecond, 0)} events/s`,
    '',
    textTable([
      ['events of history', ...runs.map(({ history }) => figureText(history, 0))],
      row('accepted, events/s', 0, ({ load }) => load.eventsPerSecond),
      row('    p50 ms', 1, ({ load }) => load.p50Milliseconds),
      row('    p99 ms', 1, ({ load }) => load.p99Milliseconds),
      row('delivered when the load ended, %', 1, ({ delivered, stored }) =>
        stored === 0 ? null : (delivered * 100) / stored,
      ),
      row('oldest due delivery, s: first 10 s', 2, ({ backlog }) => oldest(backlog, isEarly)),
      row('    then, at most', 2, ({ backlog }) => oldest(backlog, isLate)),
      ['', ...runs.map(({ backlog }) => aimText(BACKLOG_AIM, oldest(backlog, isLate)))],
      row('memory, MB', 0, ({ memory }) => memory?.megabytes ?? null),
    ]),
    '',
    ...runs.map(({ history, stored, accepted }) => {
      const place = `${figureText(history, 0)} events of history`
      return `rows ${stored}, 2xx answers ${accepted} (${place})`
    }),
  ].join('\n')
  return { text, faults: runs.flatMap(faultsOf) }
}

const isEarly = ({ seconds }: BacklogSample) => seconds <= SETTLING_SECONDS
const isLate = (sample: BacklogSample) => !isEarly(sample)

function oldest(
  samples: readonly BacklogSample[],
  isMeant: (sample: BacklogSample) => boolean,
): number | null {
  const ages = samples.filter(isMeant).map(({ oldestDueSeconds }) => oldestDueSeconds)
  return ages.length === 0 ? null : Math.max(...ages)
}

function faultsOf({ load, stored, accepted }: FreshRun): string[] {
  const refused = Object.keys(load.answers).filter(status => status !== '202')
  return [
    ...(refused.length === 0 ? [] : [`Some were answered ${refused.join(', ')}.`]),
    ...(stored === accepted ? [] : [`${accepted} were accepted and ${stored} are stored.`]),
  ]
}
