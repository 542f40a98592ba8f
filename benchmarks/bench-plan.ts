export const BENCH_NAMES = ['acceptance', 'delivery'] as const
export type BenchName = (typeof BENCH_NAMES)[number]

/** How long and how wide to measure; the defaults take about three minutes together. */
export interface BenchPlan {
  /** Numbers of connections; the aims are for the last one. */
  connections: number[]
  rounds: number
  warmUpSeconds: number
  seconds: number
  /** Stored deliveries of one round of `delivery`. */
  events: number
}

/** What a benchmark found. */
export interface BenchFindings {
  /** A table for people. */
  text: string
  /** Sentences about what is wrong with the answers or rows. Speed is never among them. */
  faults: string[]
}

/** Closes what a benchmark opened; run once, at its end or when it is interrupted. */
export type Closers = (() => Promise<void>)[]
