import type { ProvisionedTracker } from '../../service/provisioning/provision-tracker.ts'
import type { AlertTransition } from '../../service/reports/alert-store.ts'
import type { MonthPlan } from './month-plan.ts'

/** What somebody who was there can tell of the month, without a look at our tables. */
export interface MonthStory {
  plan: MonthPlan
  shops: readonly ToldShop[]
  events: readonly ToldEvent[]
  others: readonly ToldOthers[]
  /** When the Pixel told of an event, by its id. */
  pixelAt: ReadonlyMap<string, Date>
  /** Everything that the platform kept, oldest first. */
  arrivals: readonly Arrival[]
  jobs: readonly JobMoment[]
  /** Every report as it was each time that it was made, the oldest first. */
  editions: readonly Edition[]
  /** The reports of the month as they are in the end. */
  reports: readonly ReadReport[]
  /** By dataset, the newest first. */
  // biome-ignore lint/suspicious/noExplicitAny: snapshots as the interface shows them
  snapshots: ReadonlyMap<string, readonly any[]>
  alerts: readonly KeptAlert[]
  alertMoves: readonly AlertTransition[]
}

export interface ToldShop extends ProvisionedTracker {
  datasetId: string
}

/** An event that was answered 202, or a test purchase. */
export interface ToldEvent {
  datasetId: string
  eventId: string
  eventName: string
  happensAt: Date
  submittedAt: Date
  /** From then on nothing more is to be sent: somebody left, or it was refused. */
  endsAt: Date | null
  /** Nothing of it may ever arrive. */
  isWithheld: boolean
  /** In dollars; null for what is no real purchase. */
  dollars: string | null
}

export interface ToldOthers {
  datasetId: string
  eventName: string
  count: number
  at: Date
}

/** One copy of an event that the platform kept. */
export interface Arrival {
  datasetId: string
  eventId: string
  eventName: string
  at: Date
  eventTimeSeconds: number
  isTest: boolean
  /** It had come before. */
  isCopy: boolean
  /** The sender heard of it. */
  isAnswered: boolean
  actionSource: string
  /** Of `user_data`, with any value. */
  keys: readonly string[]
}

/** A moment at which the jobs were called. */
export interface JobMoment {
  at: Date
  showsCounts: boolean
  showsQuality: boolean
}

export interface ReadReport {
  datasetId: string
  /** The UTC day that it is of. */
  date: string
  // biome-ignore lint/suspicious/noExplicitAny: a report as the interface shows it
  report: any
}

/** A report as it was read right after it was made. */
export interface Edition extends ReadReport {
  at: Date
}

/** An alert as it lies in its table. */
export interface KeptAlert {
  datasetId: string
  kind: string
  sentence: string
  raisedAt: Date
  resolvedAt: Date | null
}

/** The UTC day of a moment, YYYY-MM-DD. */
export function dayOf(at: Date): string {
  return at.toISOString().slice(0, 10)
}
