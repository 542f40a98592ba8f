import type { AuditedContext } from '../audit/commit-audited.ts'
import type { DeliveryContext } from '../delivery/delivery-context.ts'
import type { CredentialKeys } from '../delivery/sealed-credential.ts'
import type { ErasureKeyProvider } from '../events/person-identifiers.ts'
import type { SessionContext } from '../people/session-store.ts'
import type { PlatformRegistry } from '../platforms/registry.ts'

/** What the operations of the dashboard depend on. */
export interface DashboardContext extends SessionContext, AuditedContext {
  platforms: PlatformRegistry
  /** For test purchases; null in a process without a platform URL. */
  delivery: DeliveryContext | null
  erasureKey: ErasureKeyProvider
  credentialKeys: CredentialKeys
  testModeSeconds: number
  /** The destinations of a tracker changed, or the test mode of one. */
  onDestinationChanged: (trackerId: string) => void
  /** Deliveries became due. */
  onDeliveriesQueued: (trackerId: string) => void
}
