import type { ContractKeys } from '@signalbox/contract/signing-key.ts'
import { seedSimulatedAccount } from '../../agents/campaigns/simulated-account-store.ts'
import { createSimulatedCampaignApi } from '../../agents/campaigns/simulated-campaign-store.ts'
import { cancelPolicyOfFormerOwner } from '../../agents/policy/pending-policy.ts'
import { createAuditTrail } from '../../audit/audit-store.ts'
import { deriveAuditKeys } from '../../audit/signed-head.ts'
import type { StreamSlots } from '../../dashboard/live/stream-limit.ts'
import type { Database } from '../../runtime/db/database.ts'
import { type ReadDatabase, readPrimaryOnly } from '../../runtime/db/replica/read-replica.ts'
import { type StoreNodes, singleNode } from '../../runtime/db/store-nodes.ts'
import {
  createClientAddressReader,
  createTrustedProxies,
} from '../../runtime/http/client-address.ts'
import { healthRoutes } from '../../runtime/http/health-routes.ts'
import {
  type LimitMemory,
  type LimitName,
  limitRequests,
  type RequestLimits,
} from '../../runtime/http/request-limits.ts'
import {
  type CompletedRequest,
  createServiceApp,
  type ServiceApp,
  type ServiceLogger,
} from '../../runtime/http/service-app.ts'
import { traceRequests } from '../../runtime/http/trace-requests.ts'
import type { Settings } from '../../runtime/settings/settings.ts'
import type { Tracer } from '../../runtime/tracing/tracer.ts'
import type { CredentialKeys } from '../../runtime/util/sealed-credential.ts'
import { monotonicSeconds } from '../../runtime/util/time.ts'
import type { PublicClientOptions } from '../../runtime/webhooks/client.ts'
import { createPublishableKeyAuthenticator } from '../../signals/access/authenticate-publishable-key.ts'
import { createTrackerAuthenticator } from '../../signals/access/authenticate-tracker.ts'
import { guardRoutes } from '../../signals/access/guard-routes.ts'
import { limitTrackers } from '../../signals/access/tracker-limits.ts'
import type { CircuitCounts } from '../../signals/delivery/circuit-breaker.ts'
import type { DeliveryContext } from '../../signals/delivery/delivery-context.ts'
import {
  ActivityAnnouncer,
  type StoreActivity,
} from '../../signals/delivery/destination-queue-store.ts'
import { DestinationRouteCache } from '../../signals/delivery/plan-store.ts'
import { createErasureKeyProvider } from '../../signals/erasure/erasure-store.ts'
import { verifyIngestion } from '../../signals/ingestion/accept-event.ts'
import { type CommitHealth, createCommitHealth } from '../../signals/ingestion/commit-health.ts'
import {
  type CommittedGroup,
  createEventCommitQueue,
} from '../../signals/ingestion/event-commit-queue.ts'
import type { PlatformRegistry } from '../../signals/platforms/registry.ts'
import { RefusalRecorder } from '../../signals/refusals/refusal-recorder.ts'
import { startRefusalWorker } from '../../signals/refusals/worker.ts'
import { revokeCredentialsOfFormerMember } from '../../workspaces/oauth/execution-tokens.ts'
import type { Mailer } from '../../workspaces/users/mail/mail-queue.ts'
import type { ScryptCost } from '../../workspaces/users/password-hash.ts'
import type { RoleLossListener } from '../../workspaces/users/role-loss.ts'
import type { AdAccountListener } from '../../workspaces/users/users-context.ts'
import type { CommitQueueState } from '../metrics/ingestion-metrics.ts'
import { registerRoutes, type ServiceContext } from './register-routes.ts'

/** What the HTTP service is assembled from. */
export interface ServerOptions {
  settings: Settings
  database: Database
  /** Where reads of history go; left out, to the database. */
  readDatabase?: ReadDatabase
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
  /** Tests lead the documents of clients to themselves. */
  documentRequests?: PublicClientOptions
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
    streamSlots: StreamSlots
  }
}

export interface Server {
  app: ServiceApp
  /** The start is complete: `/readyz` may return 200. */
  markReady(): void
  /** Events that wait for a commit now. */
  commitQueue(): CommitQueueState
  commitHealth: CommitHealth
  /** Stores the refusals that were counted so far, which otherwise happens every five seconds. */
  flushRefusals(): Promise<void>
  /** Stops accepting requests, answers open ones, and commits their events. */
  close(): Promise<void>
}

/** Assembles the HTTP service: requests, group commits, limits, and the routes of all rooms. */
export function createServer(options: ServerOptions): Server {
  const { database, logger } = options
  const app = createServiceApp(logger, options.onAnswered, options.publicOrigin)
  if (options.tracer) traceRequests(app, options.tracer)
  const nodes = options.nodes ?? singleNode(database)
  const commitHealth = createCommitHealth({ monotonicSeconds, ...options, nodes })
  let pause: string | null = 'start'
  const limits = limitAndGuard(app, options, nodes)
  healthRoutes(app, {
    checks: [
      { name: 'store', check: () => database.ping() },
      { name: 'commits', check: () => commitHealth.check() },
    ],
    pauseReason: () => pause,
    ...(options.circuits && { circuits: options.circuits }),
  })
  const context = createServiceContext(options, { nodes, commitHealth, limits })
  registerRoutes(app, context)
  const { commits, refusals, erasureKey } = context
  const refusalWorker = startRefusalWorker({
    database,
    nodes,
    recorder: refusals,
    erasureKey,
    onError: err => logger.warn({ err }, 'the counts of refused events were not stored'),
  })
  return {
    app,
    markReady: () => {
      pause = null
    },
    commitQueue: () => ({ queued: commits.queued, refusals: commits.refusals }),
    commitHealth,
    flushRefusals: refusalWorker.flush,
    close: async () => {
      pause = 'shutdown'
      await app.close()
      await commits.drain()
      await refusalWorker.stop()
    },
  }
}

interface ServerParts {
  nodes: StoreNodes
  commitHealth: CommitHealth
  limits: RequestLimits
}

/** What the rooms depend on: the options, and what the rooms of one process share. */
function createServiceContext(
  options: ServerOptions,
  { nodes, commitHealth, limits }: ServerParts,
): ServiceContext {
  const { database, logger, now, settings, credentialKeys, platforms } = options
  const auditKeys = deriveAuditKeys(credentialKeys)
  const erasureKey = createErasureKeyProvider({ database, credentialKeys, now })
  const routes = new DestinationRouteCache(nodes, now, options.shared?.destinationChanges)
  const announce = createAnnouncement(options)
  const commits = createEventCommitQueue({
    ...options,
    nodes,
    routes,
    erasureKey,
    health: commitHealth,
    onEventsStored: announce,
  })
  return {
    ...options,
    nodes,
    readDatabase: options.readDatabase ?? readPrimaryOnly(database),
    limits,
    auditKeys,
    audit: createAuditTrail(auditKeys, logger),
    erasureKey,
    commits,
    routes,
    refusals: new RefusalRecorder(),
    streamSlots: options.shared?.streamSlots,
    addressOf: createClientAddressReader(createTrustedProxies(settings.trustedProxies)),
    campaigns: createSimulatedCampaignApi(database),
    onAdAccountAdded: addSimulatedCampaigns,
    onRoleLost: endRole,
    onDestinationChanged: () => routes.invalidate(),
    onDeliveriesQueued: trackerId => announce({ trackerIds: [trackerId], hasDueDeliveries: true }),
    onTouchError: createTouchErrorHandler(logger),
    verifyTracker: trackerId => verifyIngestion({ commits, platforms }, { trackerId }, now()),
  }
}

/** Every new ad account gets simulated campaigns. */
const addSimulatedCampaigns: AdAccountListener = (transaction, account) => {
  const { id: adAccountId, platformAccountId, name, createdAt: at } = account
  return seedSimulatedAccount(transaction, { adAccountId, platformAccountId, name, at })
}

/** What ends with a role, beside invitations. */
const endRole: RoleLossListener = async (transaction, loss) => {
  await cancelPolicyOfFormerOwner(transaction, loss)
  await revokeCredentialsOfFormerMember(transaction, loss)
}

/** Requests do not wait until the time of last use is stored, so a failure is logged here. */
function createTouchErrorHandler(logger: ServiceLogger) {
  return (err: unknown) => logger.warn({ err }, 'the time of last use was not stored')
}

/** Limits requests to what this process can serve, and to each caller's share. */
function limitAndGuard(app: ServiceApp, options: ServerOptions, nodes: StoreNodes): RequestLimits {
  const { database, logger, now } = options
  const onTouchError = createTouchErrorHandler(logger)
  const proxies = createTrustedProxies(options.settings.trustedProxies)
  return limitRequests(app, {
    settings: options.settings,
    addressOf: createClientAddressReader(proxies),
    monotonicSeconds: options.monotonicSeconds ?? monotonicSeconds,
    readDelaySeconds: options.readDelaySeconds,
    onLimited: options.onLimited ?? (() => {}),
    onShed: options.onShed ?? (() => {}),
    memory: options.shared?.limits,
    guard: limits => {
      guardRoutes(
        app,
        createTrackerAuthenticator(database, { nodes, now, onTouchError }),
        createPublishableKeyAuthenticator(database, { nodes, now, onTouchError, proxies }),
      )
      limitTrackers(app, limits)
    },
  })
}

/** Tells this process and others what changed. */
function createAnnouncement({ database, logger, onPlanned }: ServerOptions) {
  const announcer = new ActivityAnnouncer(database, err =>
    logger.warn({ err }, 'delivery workers and live views were not notified'),
  )
  return (activity: StoreActivity) => {
    if (activity.hasDueDeliveries) onPlanned()
    announcer.announce(activity)
  }
}
