import type { ContractKeys } from '@signalbox/contract/signing-key.ts'
import type { StreamCounts } from '../../dashboard/live/event-stream.ts'
import type { Database } from '../../runtime/db/database.ts'
import type { StoreNodes } from '../../runtime/db/store-nodes.ts'
import type { LimitMemory, LimitName, RequestRates } from '../../runtime/http/request-limits.ts'
import type { CompletedRequest, ServiceLogger } from '../../runtime/http/service-app.ts'
import type { Tracer } from '../../runtime/tracing/tracer.ts'
import type { Network } from '../../runtime/util/ip-address.ts'
import type { CredentialKeys } from '../../runtime/util/sealed-credential.ts'
import type { CircuitCounts } from '../../signals/delivery/circuit-breaker.ts'
import type { DeliveryContext } from '../../signals/delivery/delivery-context.ts'
import type { CommittedGroup } from '../../signals/ingestion/event-commit-queue.ts'
import type { PlatformRegistry } from '../../signals/platforms/registry.ts'
import type { Mailer } from '../../workspaces/users/mail/mail-queue.ts'
import type { ScryptCost } from '../../workspaces/users/password-hash.ts'
import type { SignUpPolicy } from '../../workspaces/users/sign-up-policy.ts'
import type { SocialClients } from '../../workspaces/users/social-providers.ts'

/** What the HTTP service is assembled from. */
export interface ServerOptions {
  database: Database
  /** Of the same database, for a connection that listens. */
  connectionString: string
  /** Where trackers live; left out, in the database. */
  nodes?: StoreNodes
  platforms: PlatformRegistry
  /** For test purchases, which are sent immediately; null where the platform is not known. */
  delivery: DeliveryContext | null
  testModeSeconds: number
  /** Id of the platform in Additional Consent strings; null: they are not looked at. */
  additionalConsentProvider: number | null
  /** What is sealed is opened with them, and sandbox keys come from the current one. */
  credentialKeys: CredentialKeys
  /** What the served contract is signed with. */
  contractKeys: ContractKeys
  /** Where vulnerabilities are reported, as a URI; without it there is no security.txt. */
  securityContact: string | undefined
  logger: ServiceLogger
  now: () => Date
  publicOrigin: () => string
  /** Proxies whose forwarding headers are trusted. */
  trustedProxies: readonly Network[]
  /** Sends emails to users. */
  mails: Mailer
  /** Providers that people may sign in with. */
  social: SocialClients
  /** Who may create an account. */
  signUp: SignUpPolicy
  /** Schemes of native clients that OAuth may send people back to. */
  nativeSchemes: readonly string[]
  /** Other origins whose pages may call the MCP server. */
  mcpOrigins: readonly string[]
  ingestQueueMax: number
  commitEventsMax: number
  /** Rate limits; 0 means no limit. */
  limits: RequestRates & { eventLoopDelayMillisecondsMax: number }
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
