import type { ProvisionedTracker } from '../../../service/provisioning/provision-tracker.ts'
import type { AlertTransition } from '../../../service/reports/alert-store.ts'
import type { Reply, TestService } from '../../fixtures/service.ts'
import type { MonthEvent } from './events.ts'
import type { MonthPlan } from './plan.ts'

/** What somebody who was there can tell of the month, without a look at our tables. */
export interface MonthHistory {
  plan: MonthPlan
  shops: readonly SimulatedShop[]
  events: readonly SubmittedEvent[]
  foreignEvents: readonly SentForeignEvents[]
  /** When the Pixel told of an event, by its id. */
  pixelAt: ReadonlyMap<string, Date>
  /** Everything that the platform kept, oldest first. */
  arrivals: readonly Arrival[]
  jobs: readonly JobCall[]
  /** Every report as it was each time that it was made, the oldest first. */
  editions: readonly ReportEdition[]
  /** The reports of the month as they are in the end. */
  reports: readonly ReadReport[]
  /** By dataset, the newest first. */
  // biome-ignore lint/suspicious/noExplicitAny: snapshots as the interface shows them
  snapshots: ReadonlyMap<string, readonly any[]>
  alerts: readonly StoredAlert[]
  alertChanges: readonly AlertTransition[]
}

export interface SimulatedShop extends ProvisionedTracker {
  datasetId: string
}

/** An event that was answered 202, or a test purchase. */
export interface SubmittedEvent {
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

interface SentForeignEvents {
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
  isDuplicate: boolean
  /** The sender heard of it. */
  isAnswered: boolean
  actionSource: string
  /** Of `user_data`, with any value. */
  keys: readonly string[]
}

/** A moment at which the jobs were called. */
export interface JobCall {
  at: Date
  showsCounts: boolean
  showsQuality: boolean
}

interface ReadReport {
  datasetId: string
  /** The UTC day that it is of. */
  date: string
  // biome-ignore lint/suspicious/noExplicitAny: a report as the interface shows it
  report: any
}

/** A report as it was read right after it was made. */
export interface ReportEdition extends ReadReport {
  at: Date
}

/** An alert as it lies in its table. */
export interface StoredAlert {
  datasetId: string
  kind: string
  sentence: string
  raisedAt: Date
  resolvedAt: Date | null
}

/** The UTC day of a moment, YYYY-MM-DD. */
export function toUtcDay(at: Date): string {
  return at.toISOString().slice(0, 10)
}

/** Where the month is played, and what was seen of it so far. */
export interface MonthSimulation {
  service: TestService
  shops: readonly [SimulatedShop, SimulatedShop]
  events: SubmittedEvent[]
  foreignEvents: SentForeignEvents[]
  pixelAt: Map<string, Date>
  jobs: JobCall[]
  editions: ReportEdition[]
  alertChanges: AlertTransition[]
  /** Requests as they were made, to be made again. */
  bodies: Map<MonthEvent, Record<string, unknown>>
  /** Customers of the first shop of whom nothing may be sent any more. */
  erasedCustomers: Set<string>
}

/** Moves the clock on to a moment. */
export function advanceClockTo({ service: { clock } }: MonthSimulation, at: Date): void {
  clock.advance((at.getTime() - clock.now().getTime()) / 1_000)
}

export function requireStatus({ status, text }: Reply, ...expected: number[]): void {
  if (!expected.includes(status)) throw new Error(`answered ${status}: ${text}`)
}
