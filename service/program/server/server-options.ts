import type { ContractKeys } from '@signalbox/contract/signing-key.ts'
import type { StreamCounts } from '../../dashboard/live/event-stream.ts'
import type { Database } from '../../runtime/db/database.ts'
import type { StoreNodes } from '../../runtime/db/store-nodes.ts'
import type { LimitMemory, LimitName } from '../../runtime/http/request-limits.ts'
import type { CompletedRequest, ServiceLogger } from '../../runtime/http/service-app.ts'
import type { Settings } from '../../runtime/settings/settings.ts'
import type { Tracer } from '../../runtime/tracing/tracer.ts'
import type { CredentialKeys } from '../../runtime/util/sealed-credential.ts'
import type { CircuitCounts } from '../../signals/delivery/circuit-breaker.ts'
import type { DeliveryContext } from '../../signals/delivery/delivery-context.ts'
import type { CommittedGroup } from '../../signals/ingestion/event-commit-queue.ts'
import type { PlatformRegistry } from '../../signals/platforms/registry.ts'
import type { Mailer } from '../../workspaces/users/mail/mail-queue.ts'
import type { ScryptCost } from '../../workspaces/users/password-hash.ts'

/** What the HTTP service is assembled from. */
export interface ServerOptions {
  settings: Settings
  database: Database
  /** Of the same database, for a connection that listens. */
  connectionString: string
  /** Where trackers live; left out, in the database. */
  nodes?: StoreNodes
  platforms: PlatformRegistry
  /** For test purchases, which are sent immediately; null where the platform is not known. */
  delivery: DeliveryContext | null
  /** What is sealed is opened with them, and sandbox keys come from the current one. */
  credentialKeys: CredentialKeys
  /** What the served contract is signed with. */
  contractKeys: ContractKeys
  logger: ServiceLogger
  now: () => Date
  publicOrigin: () => string
  /** Sends emails to users. */
  mailer: Mailer
  /** Tests give a clock that stands still, and a delay of their own. */
  monotonicSeconds?: () => number
  readDelaySeconds?: () => number
  /** Of new password hashes; tests give one that takes less work. */
  passwordCost?: ScryptCost | undefined
  /** Deliveries were planned in this process. */
  onPlanned: () => void
  /** For metrics. */
  onAnswered?: (answered: CompletedRequest) => void
  onCommitted?: (group: CommittedGroup) => void
  onLimited?: (name: LimitName) => void
  onShed?: () => void
  /** Null where no exporter of traces is configured. */
  tracer: Tracer | null
  /** The state of the circuits of this process; left out where it delivers nothing. */
  circuits?: () => CircuitCounts | Promise<CircuitCounts>
  /** Memory that the HTTP workers of one process share; left out, it serves alone. */
  shared?: {
    limits: LimitMemory
    destinationChanges: SharedArrayBuffer
    streamCounts: StreamCounts
  }
}
