export const BENCH_NAMES = [
  'acceptance',
  'workers',
  'fresh',
  'delivery',
  'list',
  'erasure',
  'retention',
  'growth',
  'citus',
] as const
export type BenchName = (typeof BENCH_NAMES)[number]

export const DELIVERY_SCENARIOS = ['plain', 'faults', 'lanes', 'outage'] as const
export type DeliveryScenario = (typeof DELIVERY_SCENARIOS)[number]

/** How long and how wide to measure; the defaults take about eight minutes together. */
export interface BenchPlan {
  /** Numbers of connections; the aims are for the last one. */
  connections: number[]
  rounds: number
  warmUpSeconds: number
  seconds: number
  /** Numbers of HTTP workers of `serve`. */
  workers: number[]
  fresh: FreshPlan
  delivery: DeliveryPlan
  list: ListPlan
  erasure: ErasurePlan
  retention: RetentionPlan
  growth: GrowthPlan
  citus: CitusPlan
}

export interface FreshPlan {
  /** Events that lie in each store before. */
  history: number[]
  /** Of each load. */
  seconds: number
}

export interface ListPlan {
  /** Events of each tracker that is listed, the smallest first. */
  events: number[]
  /** Requests of each kind. */
  requests: number
}

export interface ErasurePlan {
  /** Events of each tracker that erases, the smallest first. */
  events: number[]
  /** People who are erased, of 1 to 30 events each. */
  persons: number
}

export interface RetentionPlan {
  /** Expired payloads of one day, in each round. */
  payloads: number
  /** Expired events with their deliveries, in each round. */
  events: number
}

export interface GrowthPlan {
  /** Events that lie in each store before, the smallest first. */
  history: number[]
  /** Events that are accepted and delivered between two checkpoints. */
  intervalEvents: number
  /** After which an interval ends although events are left. */
  intervalSeconds: number
  /** Failed deliveries that a replay chooses from. */
  failures: number
}

export interface CitusPlan {
  /** Commits that are measured in each place. */
  commits: number
  /** Purchases of one commit. */
  rows: number
  /** Numbers of trackers that they are of. */
  trackers: number[]
}

export interface DeliveryPlan {
  /** How often each scenario is measured; 0 leaves it out. */
  rounds: Record<DeliveryScenario, number>
  /** Stored deliveries of one round; `outage` has its own number. */
  events: number
  /** Events in a request; null leaves it to the scenario. */
  batchEvents: number | null
  /** Trackers with one destination each, in `lanes`. */
  lanes: number
  /** Requests of a round of `faults` that are answered as throttled. */
  throttlesMax: number
  outageEvents: number
  outageSeconds: number
}

/** What a benchmark found. */
export interface BenchFindings {
  /** A table for people. */
  text: string
  /** Sentences about what is wrong with the answers or rows. Speed is never among them. */
  faults: string[]
  /** Sentences about aims that were missed, of a benchmark that fails for them. */
  missedAims?: string[]
  /** Nothing was measured: the text says why. */
  isSkipped?: boolean
}

/** Closes what a benchmark opened; run once, at its end or when it is interrupted. */
export type Closers = (() => Promise<void>)[]
