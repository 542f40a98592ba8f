import type { ServiceLogger } from '../runtime/http/service-app.ts'
import type { CredentialKeys } from '../runtime/util/sealed-credential.ts'
import type { DeliveryContext } from '../signals/delivery/delivery-context.ts'
import type { TestModeContext } from '../signals/delivery/test-mode.ts'
import type { ErasureKeyProvider } from '../signals/events/person-identifiers.ts'
import type { SessionContext } from '../workspaces/users/session-store.ts'
import type { StreamCounts } from './live/event-stream.ts'

/** What the operations of the dashboard depend on. */
export interface DashboardContext extends SessionContext, TestModeContext {
  logger: ServiceLogger
  /** For test purchases; null in a process without a platform URL. */
  delivery: DeliveryContext | null
  erasureKey: ErasureKeyProvider
  credentialKeys: CredentialKeys
  /** For the connection that listens for live views. */
  connectionString: string
  streamCounts: StreamCounts | undefined
  /** The destinations of a tracker changed, or the test mode of one. */
  onDestinationChanged: (trackerId: string) => void
  /** Deliveries became due. */
  onDeliveriesQueued: (trackerId: string) => void
}
