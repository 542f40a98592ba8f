export const BENCH_NAMES = [
  'load',
  'acceptance',
  'batches',
  'commits',
  'destinations',
  'workers',
  'fresh',
  'delivery',
  'list',
  'dashboard',
  'erasure',
  'retention',
  'export',
  'growth',
  'store-settings',
  'citus',
  'first-minute',
  'peer',
] as const
export type BenchName = (typeof BENCH_NAMES)[number]

export const DELIVERY_SCENARIOS = ['plain', 'faults', 'fairness', 'outage'] as const
export type DeliveryScenario = (typeof DELIVERY_SCENARIOS)[number]

/** Duration and size of the measurements; the defaults take about eight minutes in total. */
export interface BenchPlan {
  /** Numbers of connections; the targets apply to the last one. */
  connections: number[]
  rounds: number
  warmUpSeconds: number
  seconds: number
  /** Numbers of HTTP workers of `serve`. */
  workers: number[]
  load: LoadBenchPlan
  fresh: FreshPlan
  delivery: DeliveryPlan
  list: ListPlan
  dashboard: DashboardPlan
  erasure: ErasurePlan
  retention: RetentionPlan
  export: ExportPlan
  growth: GrowthPlan
  citus: CitusPlan
  /** Null unless the benchmark is `peer`. */
  peer: PeerPlan | null
}

export interface LoadBenchPlan {
  /** Numbers of trackers that send in turn; the first is the base. */
  trackers: number[]
  /** Percentages of requests that repeat an acknowledged purchase; the first is the base. */
  duplicates: number[]
  /** Duration of the soak; 0 skips it. */
  soakSeconds: number
}

export interface FreshPlan {
  /** Events already in each store. */
  history: number[]
  /** Duration of each load. */
  seconds: number
}

export interface ListPlan {
  /** Events of each listed tracker, smallest first. */
  events: number[]
  /** Requests of each kind. */
  requests: number
}

export interface DashboardPlan {
  /** Events of each tracker, smallest first. */
  events: number[]
  /** Visits of each page. */
  rounds: number
}

export interface ErasurePlan {
  /** Events of each tracker, smallest first. */
  events: number[]
  /** People to erase, with 1 to 30 events each. */
  persons: number
}

export interface RetentionPlan {
  /** Expired payloads of one day, in each round. */
  payloads: number
  /** Expired events with their deliveries, in each round. */
  events: number
}

export interface ExportPlan {
  /** Events of the exported tracker. */
  events: number
}

export interface GrowthPlan {
  /** Events already in each store, smallest first. */
  history: number[]
  /** Events accepted and delivered between two checkpoints. */
  intervalEvents: number
  /** The longest duration of an interval. */
  intervalSeconds: number
  /** Failed deliveries that a replay chooses from. */
  failures: number
}

export interface CitusPlan {
  /** Measured commits per target. */
  commits: number
  /** Purchases per commit. */
  rows: number
  /** Numbers of trackers per commit. */
  trackers: number[]
}

/** An endpoint of another program that receives events. */
export interface PeerPlan {
  url: string
  /** Lines of its requests, such as `Authorization: Basic ...`. */
  headers: string[]
  /** In which `{{id}}` is replaced by an ID of each request; null sends our purchases. */
  body: string | null
}

export interface DeliveryPlan {
  /** Rounds of each scenario; 0 skips it. */
  rounds: Record<DeliveryScenario, number>
  /** Stored deliveries per round; `outage` has its own number. */
  events: number
  /** Events per request; null uses the default of the scenario. */
  batchEvents: number | null
  /** Trackers with one destination each, in `fairness`. */
  destinations: number
  /** Throttled requests in a round of `faults`. */
  throttlesMax: number
  outageEvents: number
  outageSeconds: number
}

/** The result of a benchmark. */
export interface BenchFindings {
  /** A readable table. */
  text: string
  /** Sentences about wrong responses or rows, never about speed. */
  faults: string[]
  /** Sentences about missed targets, for benchmarks that fail on them. */
  missedAims?: string[]
  /** Nothing was measured; the text has the reason. */
  isSkipped?: boolean
}

/** Functions that close what a benchmark opened; run once, at its end or when interrupted. */
export type Closers = (() => Promise<void>)[]
