import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import {
  BENCH_NAMES,
  type BenchName,
  type BenchPlan,
  DELIVERY_SCENARIOS,
  type DeliveryPlan,
  type DeliveryScenario,
  type PeerPlan,
} from './bench-plan.ts'

export interface BenchCommand {
  name: BenchName
  plan: BenchPlan
  /** Whether to append the result to results.md. */
  write: boolean
}

const USAGE = `Usage: npm run bench [-- ${BENCH_NAMES.join('|')}] [options]
Without a name: load.
  --rounds N           number of rounds; the report shows medians (3; for delivery, 3 rounds
                       of plain and 1 of each other scenario; for dashboard, 10 visits)
  --write              append the result to testing/benchmarks/results.md
for load, acceptance, batches, commits, destinations, workers, retention and growth:
  --seconds S          duration of each load (5)
  --warm-up S          warm-up before each load, not measured (1.5)
  --connections N,N    numbers of connections; targets apply to the last, load uses the first
                       (64,256; not for commits and growth)
for load and workers:
  --workers N,N        numbers of HTTP workers of serve (1,2,4)
for load:
  --trackers N,N       numbers of trackers that send in turn (1,100,10000)
  --duplicates P,P     percentages of repeated requests (0,10,100)
  --soak-minutes M     duration of npm start at half of its largest load; 0 skips it (30)
for fresh, growth and store-settings:
  --history N,N        events already in the store (0,1000000,10000000)
  --minutes M          duration of each load; for growth, the limit of each interval (3)
for growth and store-settings:
  --interval N         events accepted between two checkpoints (200000)
for growth:
  --failures N         failed deliveries that a replay selects from (100000)
for delivery:
  --scenario NAME      run only one of ${DELIVERY_SCENARIOS.join(', ')} (all)
  --events N           stored deliveries per round of plain, faults and fairness (50000)
  --batch N            events per request (1000; faults 100)
  --destinations N     number of destinations in fairness (200)
  --throttles N        throttled requests in faults, each with a pause of one minute (1)
  --outage-events N    events that arrive during the outage (100000)
  --outage-minutes M   minimum duration of the outage (1)
for list, dashboard and erasure:
  --sizes N,N          events of each tracker (100000,10000000)
for list:
  --requests N         requests of each kind (500)
for erasure:
  --persons N          people to erase, with 1 to 30 events each (300)
for retention:
  --payloads N         expired payloads of one day, per round (1000000)
  --old-events N       expired events with their deliveries, per round (300000)
for export:
  --events N           events of the exported tracker (200000)
for peer:
  --url URL            the endpoint to compare with: http:// and POST
  --header LINE        a header of its requests, such as 'Authorization: Basic ...'; repeatable
  --body FILE          its body, in which {{id}} becomes unique (by default our purchases)
for citus:
  --commits N          measured commits per target (40)
  --rows N             purchases per commit (1000)
  --trackers N,N       numbers of trackers per commit (1,100)`

/** Every load is bounded in count and in time. */
const LIMITS = {
  rounds: { min: 1, max: 20 },
  seconds: { min: 0.1, max: 120 },
  'warm-up': { min: 0, max: 60 },
  connections: { min: 1, max: 1_000 },
  workers: { min: 1, max: 64 },
  duplicates: { min: 0, max: 100 },
  'soak-minutes': { min: 0, max: 60 },
  history: { min: 0, max: 20_000_000 },
  minutes: { min: 0.01, max: 60 },
  events: { min: 1, max: 400_000 },
  batch: { min: 1, max: 1_000 },
  destinations: { min: 1, max: 1_000 },
  throttles: { min: 0, max: 10 },
  'outage-events': { min: 1, max: 400_000 },
  'outage-minutes': { min: 0.01, max: 60 },
  sizes: { min: 1, max: 20_000_000 },
  requests: { min: 1, max: 10_000 },
  persons: { min: 1, max: 3_000 },
  payloads: { min: 1, max: 5_000_000 },
  'old-events': { min: 1, max: 5_000_000 },
  interval: { min: 1, max: 5_000_000 },
  failures: { min: 1, max: 1_000_000 },
  commits: { min: 1, max: 1_000 },
  rows: { min: 1, max: 1_000 },
  trackers: { min: 1, max: 10_000 },
} as const

const FRACTIONS = ['seconds', 'warm-up', 'minutes', 'outage-minutes', 'soak-minutes']
const ROUNDS = 3
const DELIVERED_EVENTS = '50000'
const EXPORTED_EVENTS = '200000'
const LOAD_TRACKERS = '1,100,10000'
const CITUS_TRACKERS = '1,100'
const DASHBOARD_ROUNDS = 10
/** All of them take six minutes in total; half of that is waiting, the same in every round. */
const DELIVERY_ROUNDS: Record<DeliveryScenario, number> = {
  plain: ROUNDS,
  faults: 1,
  fairness: 1,
  outage: 1,
}

/** Reads the command line, or returns a sentence about the first problem. */
export function readBenchCommand(args: readonly string[]): BenchCommand | { problem: string } {
  try {
    const { values, positionals } = parse(args)
    const [wanted = 'load'] = positionals
    const name = BENCH_NAMES.find(known => known === wanted)
    if (name === undefined || positionals.length > 1) return { problem: USAGE }
    const sizes = listNumbers('sizes', values.sizes)
    const history = listNumbers('history', values.history)
    const minutes = parseNumber('minutes', values.minutes)
    const plan = {
      connections: listNumbers('connections', values.connections),
      rounds: values.rounds === undefined ? ROUNDS : parseNumber('rounds', values.rounds),
      warmUpSeconds: parseNumber('warm-up', values['warm-up']),
      seconds: parseNumber('seconds', values.seconds),
      workers: listNumbers('workers', values.workers),
      load: {
        trackers: listNumbers('trackers', values.trackers ?? LOAD_TRACKERS),
        duplicates: listNumbers('duplicates', values.duplicates),
        soakSeconds: parseNumber('soak-minutes', values['soak-minutes']) * 60,
      },
      fresh: { history, seconds: minutes * 60 },
      delivery: deliveryPlan(values),
      list: { events: sizes, requests: parseNumber('requests', values.requests) },
      dashboard: {
        events: sizes,
        rounds:
          values.rounds === undefined ? DASHBOARD_ROUNDS : parseNumber('rounds', values.rounds),
      },
      erasure: { events: sizes, persons: parseNumber('persons', values.persons) },
      retention: {
        payloads: parseNumber('payloads', values.payloads),
        events: parseNumber('old-events', values['old-events']),
      },
      export: { events: parseNumber('events', values.events ?? EXPORTED_EVENTS) },
      growth: {
        history: history.toSorted((a, b) => a - b),
        intervalEvents: parseNumber('interval', values.interval),
        intervalSeconds: minutes * 60,
        failures: parseNumber('failures', values.failures),
      },
      citus: {
        commits: parseNumber('commits', values.commits),
        rows: parseNumber('rows', values.rows),
        trackers: listNumbers('trackers', values.trackers ?? CITUS_TRACKERS),
      },
      peer: name === 'peer' ? peerPlan(values) : null,
    }
    return { name, plan, write: values.write }
  } catch (error) {
    return { problem: `${(error as Error).message}\n\n${USAGE}` }
  }
}

type Values = ReturnType<typeof parse>['values']

function deliveryPlan(values: Values): DeliveryPlan {
  return {
    rounds: deliveryRounds(values),
    events: parseNumber('events', values.events ?? DELIVERED_EVENTS),
    batchEvents: values.batch === undefined ? null : parseNumber('batch', values.batch),
    destinations: parseNumber('destinations', values.destinations),
    throttlesMax: parseNumber('throttles', values.throttles),
    outageEvents: parseNumber('outage-events', values['outage-events']),
    outageSeconds: parseNumber('outage-minutes', values['outage-minutes']) * 60,
  }
}

function peerPlan({ url = '', header, body }: Values): PeerPlan {
  if (!URL.canParse(url) || !url.startsWith('http://')) {
    throw new Error(
      `--url must be an address that begins with http://, not ${JSON.stringify(url)}.`,
    )
  }
  const broken = header.find(line => !/^[\w-]+: *[^\r\n]*$/.test(line))
  if (broken !== undefined) {
    throw new Error(`--header must be a line such as 'Name: value', not ${JSON.stringify(broken)}.`)
  }
  return { url, headers: header, body: body === undefined ? null : readFileSync(body, 'utf8') }
}

function parse(args: readonly string[]) {
  return parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      rounds: { type: 'string' },
      seconds: { type: 'string', default: '5' },
      'warm-up': { type: 'string', default: '1.5' },
      connections: { type: 'string', default: '64,256' },
      workers: { type: 'string', default: '1,2,4' },
      history: { type: 'string', default: '0,1000000,10000000' },
      minutes: { type: 'string', default: '3' },
      scenario: { type: 'string' },
      events: { type: 'string' },
      batch: { type: 'string' },
      destinations: { type: 'string', default: '200' },
      throttles: { type: 'string', default: '1' },
      'outage-events': { type: 'string', default: '100000' },
      'outage-minutes': { type: 'string', default: '1' },
      sizes: { type: 'string', default: '100000,10000000' },
      requests: { type: 'string', default: '500' },
      persons: { type: 'string', default: '300' },
      payloads: { type: 'string', default: '1000000' },
      'old-events': { type: 'string', default: '300000' },
      interval: { type: 'string', default: '200000' },
      failures: { type: 'string', default: '100000' },
      commits: { type: 'string', default: '40' },
      rows: { type: 'string', default: '1000' },
      trackers: { type: 'string' },
      duplicates: { type: 'string', default: '0,10,100' },
      'soak-minutes': { type: 'string', default: '30' },
      url: { type: 'string' },
      header: { type: 'string', multiple: true, default: [] },
      body: { type: 'string' },
      write: { type: 'boolean', default: false },
    },
  })
}

function deliveryRounds({ rounds, scenario }: Values): Record<DeliveryScenario, number> {
  const known = DELIVERY_SCENARIOS.find(name => name === scenario)
  if (scenario !== undefined && known === undefined) {
    const names = DELIVERY_SCENARIOS.join(', ')
    throw new Error(`--scenario must be one of ${names}, not ${JSON.stringify(scenario)}.`)
  }
  const roundsOf = (name: DeliveryScenario) => {
    if (known !== undefined && name !== known) return 0
    return rounds === undefined ? DELIVERY_ROUNDS[name] : parseNumber('rounds', rounds)
  }
  return {
    plain: roundsOf('plain'),
    faults: roundsOf('faults'),
    fairness: roundsOf('fairness'),
    outage: roundsOf('outage'),
  }
}

function listNumbers(name: keyof typeof LIMITS, text: string): number[] {
  return text.split(',').map(part => parseNumber(name, part))
}

function parseNumber(name: keyof typeof LIMITS, text: string): number {
  const { min, max } = LIMITS[name]
  const value = text.trim() === '' ? Number.NaN : Number(text)
  const mayBeFraction = FRACTIONS.includes(name)
  if (value >= min && value <= max && (mayBeFraction || Number.isInteger(value))) return value
  throw new Error(`--${name} must be a number from ${min} to ${max}, not ${JSON.stringify(text)}.`)
}
