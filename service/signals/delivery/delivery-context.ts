import type { DestinationStatus } from '@signalbox/contract/destinations.ts'
import type { Database } from '../../runtime/db/database.ts'
import type { StoreNodes } from '../../runtime/db/store-nodes.ts'
import type { CredentialKeys } from '../../runtime/util/sealed-credential.ts'
import type { ErasureKeyProvider } from '../events/person-identifiers.ts'
import type { Platform } from '../platforms/platform.ts'
import type { PlatformRegistry } from '../platforms/registry.ts'
import type { RequestBudgets } from './request-budget-store.ts'
import type { Settlement } from './retry-policy.ts'

/** What delivering needs from outside. Times are seconds, sizes are counts. */
export interface DeliveryContext {
  database: Database
  /** Where trackers live: their deliveries are claimed and settled there. */
  nodes?: StoreNodes
  platforms: PlatformRegistry
  credentialKeys: CredentialKeys
  /** The limits of requests that destinations share. */
  requestBudgets: RequestBudgets
  /** Called for trackers with withdrawals under keyed digests. */
  erasureKey: ErasureKeyProvider
  batchMax: number
  leaseSeconds: number
  /** How long the event of a page waits for the one of the tracker secret. */
  pageHoldSeconds: number
  now: () => Date
  /** From 0 to 1, for the jitter of retries. */
  random: () => number
  /** True once nothing new may be sent; what is claimed is handed back. */
  isStopping?: () => boolean
  /** A destination was paused or works again: called once for each such change, for an alert. */
  onDestinationStatusChanged?: (move: DestinationStatusChange) => void
  /** These claimed deliveries were settled; `seconds` with all that was tried. */
  onSettled?: (settlements: readonly Settlement[], seconds: number, trackerId: string) => void
  /** A batch was claimed, or nothing was there to be claimed. For counting. */
  onClaimed?: (seconds: number) => void
  /** What the platform answered could not be written, and is tried again. For counting. */
  onSettleRetry?: () => void
  /** Runs the delivery of a batch in a span; left out without an exporter of traces. */
  traceBatch?: <Run extends TracedRun>(
    batch: TracedBatch,
    deliver: () => Promise<Run>,
  ) => Promise<Run>
}

interface TracedBatch {
  trackerId: string
  destinationId: string
  platform: string
}

interface TracedRun {
  claimedCount: number
  health: { kind: string }
}

/** The same, for a batch of one destination. */
export interface BatchContext extends DeliveryContext {
  platform: Platform
}

export interface DestinationStatusChange {
  trackerId: string
  destinationId: string
  status: DestinationStatus
  /** Why it is inactive; null when it works again. */
  reason: string | null
}
