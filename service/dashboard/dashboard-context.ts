import type { AuditedContext } from '../audit/commit-audited.ts'
import type { DeliveryContext } from '../delivery/delivery-context.ts'
import type { CredentialKeys } from '../delivery/sealed-credential.ts'
import type { ErasureKeyProvider } from '../events/person-identifiers.ts'
import type { ServiceLogger } from '../http/service-app.ts'
import type { SessionContext } from '../people/session-store.ts'
import type { PlatformRegistry } from '../platforms/registry.ts'
import type { StreamCounts } from './live/event-stream.ts'

/** What the operations of the dashboard depend on. */
export interface DashboardContext extends SessionContext, AuditedContext {
  logger: ServiceLogger
  platforms: PlatformRegistry
  /** For test purchases; null in a process without a platform URL. */
  delivery: DeliveryContext | null
  erasureKey: ErasureKeyProvider
  credentialKeys: CredentialKeys
  testModeSeconds: number
  /** For the connection that listens for live views. */
  connectionString: string
  streamCounts: StreamCounts | undefined
  /** The destinations of a tracker changed, or the test mode of one. */
  onDestinationChanged: (trackerId: string) => void
  /** Deliveries became due. */
  onDeliveriesQueued: (trackerId: string) => void
}
