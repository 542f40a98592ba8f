import { parseArgs } from 'node:util'
import { BENCH_NAMES, type BenchName, type BenchPlan } from './bench-plan.ts'

export interface BenchCommand {
  name: BenchName
  plan: BenchPlan
  /** Append what was found to results.md. */
  write: boolean
}

const USAGE = `Usage: npm run bench -- acceptance|delivery [options]
  --rounds N           how often everything is measured; the median counts (3)
  --seconds S          measured time of each load (5)
  --warm-up S          time before it, which does not count (1.5)
  --connections N,N    of acceptance; the aims are for the last (64,256)
  --events N           of delivery: stored deliveries a round (50000)
  --write              append the findings to benchmarks/results.md`

/** Every load is bounded in count and in time. */
const LIMITS = {
  rounds: { min: 1, max: 20 },
  seconds: { min: 0.1, max: 120 },
  'warm-up': { min: 0, max: 60 },
  connections: { min: 1, max: 1_000 },
  events: { min: 1, max: 400_000 },
} as const

/** Reads the command line, or says in one sentence what is wrong with it. */
export function readBenchCommand(args: readonly string[]): BenchCommand | { problem: string } {
  try {
    const { values, positionals } = parse(args)
    const name = BENCH_NAMES.find(known => known === positionals[0])
    if (name === undefined || positionals.length > 1) return { problem: USAGE }
    const plan = {
      connections: values.connections.split(',').map(text => number('connections', text)),
      rounds: number('rounds', values.rounds),
      warmUpSeconds: number('warm-up', values['warm-up']),
      seconds: number('seconds', values.seconds),
      events: number('events', values.events),
    }
    return { name, plan, write: values.write }
  } catch (error) {
    return { problem: `${(error as Error).message}\n\n${USAGE}` }
  }
}

function parse(args: readonly string[]) {
  return parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      rounds: { type: 'string', default: '3' },
      seconds: { type: 'string', default: '5' },
      'warm-up': { type: 'string', default: '1.5' },
      connections: { type: 'string', default: '64,256' },
      events: { type: 'string', default: '50000' },
      write: { type: 'boolean', default: false },
    },
  })
}

function number(name: keyof typeof LIMITS, text: string): number {
  const { min, max } = LIMITS[name]
  const value = text.trim() === '' ? Number.NaN : Number(text)
  const mayBeFraction = name === 'seconds' || name === 'warm-up'
  if (value >= min && value <= max && (mayBeFraction || Number.isInteger(value))) return value
  throw new Error(`--${name} must be a number from ${min} to ${max}, not ${JSON.stringify(text)}.`)
}
