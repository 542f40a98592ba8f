import type { ProvisionedTracker } from '../../../service/program/provisioning/provision-tracker.ts'
import type { AlertTransition } from '../../../service/signals/reports/alert-store.ts'
import type { Reply, TestService } from '../../fixtures/service.ts'
import type { MonthEvent } from './events.ts'
import type { MonthPlan } from './plan.ts'

/** The facts of the simulated month, known without reading our event tables. */
export interface MonthHistory {
  plan: MonthPlan
  shops: readonly SimulatedShop[]
  events: readonly SubmittedEvent[]
  foreignEvents: readonly SentForeignEvents[]
  /** When the Pixel reported an event, by event ID. */
  pixelAt: ReadonlyMap<string, Date>
  /** Everything that the platform stored, oldest first. */
  arrivals: readonly Arrival[]
  jobs: readonly JobCall[]
  /** Every version of every report, oldest first. */
  editions: readonly ReportEdition[]
  /** The reports at the end of the month. */
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
  /** Nothing may be sent after this: the customer left, or the event was refused. */
  endsAt: Date | null
  /** No copy may ever arrive. */
  isWithheld: boolean
  /** In dollars; null unless it is a purchase of the sample. */
  dollars: string | null
}

interface SentForeignEvents {
  datasetId: string
  eventName: string
  count: number
  at: Date
}

/** One copy of an event that the platform stored. */
export interface Arrival {
  datasetId: string
  eventId: string
  eventName: string
  at: Date
  eventTimeSeconds: number
  isTest: boolean
  /** An earlier copy had arrived. */
  isDuplicate: boolean
  /** The sender received the response. */
  isAnswered: boolean
  actionSource: string
  /** The members of `user_data`. */
  keys: readonly string[]
}

/** A moment at which the jobs ran. */
export interface JobCall {
  at: Date
  showsCounts: boolean
  showsQuality: boolean
}

interface ReadReport {
  datasetId: string
  /** The UTC day that it covers. */
  date: string
  // biome-ignore lint/suspicious/noExplicitAny: a report as the interface shows it
  report: any
}

/** A report as it was read right after it was created. */
export interface ReportEdition extends ReadReport {
  at: Date
}

/** A row of the alerts table. */
export interface StoredAlert {
  datasetId: string
  kind: string
  sentence: string
  raisedAt: Date
  resolvedAt: Date | null
}

/** A running simulation and what it has recorded so far. */
export interface MonthSimulation {
  service: TestService
  shops: readonly [SimulatedShop, SimulatedShop]
  events: SubmittedEvent[]
  foreignEvents: SentForeignEvents[]
  pixelAt: Map<string, Date>
  jobs: JobCall[]
  editions: ReportEdition[]
  alertChanges: AlertTransition[]
  /** Request bodies, to be sent again. */
  bodies: Map<MonthEvent, Record<string, unknown>>
  /** Customers of the first shop about whom nothing may be sent any more. */
  erasedCustomers: Set<string>
}

/** Advances the clock to a moment. */
export function advanceClockTo({ service: { clock } }: MonthSimulation, at: Date): void {
  clock.advance((at.getTime() - clock.now().getTime()) / 1_000)
}

export function requireStatus({ status, text }: Reply, ...expected: number[]): void {
  if (!expected.includes(status)) throw new Error(`answered ${status}: ${text}`)
}
