import type { BenchFindings } from './bench-plan.ts'
import { type Aim, aimText, type Measure, measured, measuredText } from './measure.ts'
import type { RetentionFigures, RetentionRound } from './retention.ts'
import { figureText, textTable } from './text-table.ts'

/** Of what is accepted at half of the top speed, expiry may take a fifth. */
const LOST_AIM: Aim = { limit: 0.2, direction: 'at most' }

const MEASURES: Measure<RetentionRound>[] = [
  {
    name: 'half of it asked for, events/s',
    digits: 0,
    read: ({ alone }) => alone.eventsPerSecond,
  },
  { name: '    p50 ms', digits: 1, read: ({ alone }) => alone.p50Milliseconds },
  { name: '    p99 ms', digits: 1, read: ({ alone }) => alone.p99Milliseconds },
  { name: '    longest ms', digits: 0, read: ({ alone }) => alone.maxMilliseconds },
  {
    name: 'the same while rows expire, events/s',
    digits: 0,
    read: ({ beside }) => beside.eventsPerSecond,
  },
  { name: '    p50 ms', digits: 1, read: ({ beside }) => beside.p50Milliseconds },
  { name: '    p99 ms', digits: 1, read: ({ beside }) => beside.p99Milliseconds },
  { name: '    longest ms', digits: 0, read: ({ beside }) => beside.maxMilliseconds },
  {
    name: 'share that expiry takes',
    digits: 3,
    read: ({ alone, beside }) => 1 - beside.eventsPerSecond / alone.eventsPerSecond,
    aim: LOST_AIM,
  },
  { name: 'days of payloads dropped', digits: 0, read: ({ expiry }) => expiry.partitions },
  { name: '    in ms', digits: 0, read: ({ expiry }) => expiry.payloadMilliseconds },
  { name: 'events expired', digits: 0, read: ({ expiry }) => expiry.events },
  {
    name: '    a second',
    digits: 0,
    read: ({ expiry }) => (expiry.events * 1_000) / expiry.eventsMilliseconds,
  },
]

/** The figures as a table, each the median of its rounds. */
export function reportRetention(figures: RetentionFigures): BenchFindings {
  const { machine, connections, payloads, events, topPerSecond, rounds } = figures
  const rows = MEASURES.map(measure => [
    measure.name,
    measuredText(measure, rounds),
    aimText(measure.aim, measured(measure, rounds)),
  ])
  const text = [
    machine,
    `medians of ${rounds.length} rounds over ${connections} connections; in each expire ` +
      `${figureText(payloads, 0)} payloads of one day and ${figureText(events, 0)} events of ` +
      'thirty days with theirs',
    '',
    textTable([['top speed, events/s', figureText(topPerSecond, 0), ''], ...rows]),
    '',
    `rows ${figures.stored}, 2xx answers ${figures.accepted}`,
  ].join('\n')
  return { text, faults: faultsOf(figures) }
}

function faultsOf({ rounds, stored, accepted }: RetentionFigures): string[] {
  const left = rounds.reduce((sum, { expiry }) => sum + expiry.payloadsLeft, 0)
  const refused = rounds.flatMap(({ alone, beside }) =>
    [alone, beside].flatMap(({ answers }) => Object.keys(answers).filter(code => code !== '202')),
  )
  return [
    ...(left === 0 ? [] : [`${left} expired payloads are still there.`]),
    ...(refused.length === 0 ? [] : [`Some were answered ${[...new Set(refused)].join(', ')}.`]),
    ...(stored === accepted ? [] : [`${accepted} were accepted and ${stored} are stored.`]),
  ]
}
