import { BASE_PATH } from '@signalbox/contract/operations.ts'
import type { ContractKeys } from '@signalbox/contract/signing-key.ts'
import { createBrowserAuthenticator } from './access/authenticate-browser.ts'
import { createTrackerAuthenticator } from './access/authenticate-tracker.ts'
import { createClientAddressReader, createTrustedProxies } from './access/client-address.ts'
import { guardRoutes } from './access/guard-routes.ts'
import {
  type LimitMemory,
  type LimitName,
  limitRequests,
  type RequestLimits,
  type RequestRates,
} from './access/request-limits.ts'
import { createSimulatedPlatform } from './agents/executor/ad-entity-store.ts'
import { seedSimulatedAccount } from './agents/executor/simulated-account-store.ts'
import { agentsRoutes } from './agents/routes.ts'
import { type AuditTrail, createAuditTrail } from './audit/audit-store.ts'
import { type AuditKeys, deriveAuditKeys } from './audit/signed-head.ts'
import type { Database } from './db/database.ts'
import { type StoreNodes, singleNode } from './db/store-nodes.ts'
import type { CircuitCounts } from './delivery/circuit-breaker.ts'
import type { DeliveryContext } from './delivery/delivery-context.ts'
import { announceDeliveries } from './delivery/destination-queue-store.ts'
import { DestinationRouteCache } from './delivery/plan-store.ts'
import { deliveryRoutes } from './delivery/routes.ts'
import type { CredentialKeys } from './delivery/sealed-credential.ts'
import { documentRoutes } from './documents/routes.ts'
import { createErasureKeyProvider } from './erasure/erasure-key-store.ts'
import { erasureRoutes } from './erasure/routes.ts'
import type { ErasureKeyProvider } from './events/person-identifiers.ts'
import { healthRoutes } from './http/health-routes.ts'
import {
  type CompletedRequest,
  createServiceApp,
  type ServiceApp,
  type ServiceLogger,
} from './http/service-app.ts'
import { verifyIngestion } from './ingestion/accept-event.ts'
import { type CommitHealth, createCommitHealth } from './ingestion/commit-health.ts'
import { type CommittedGroup, createEventCommitQueue } from './ingestion/event-commit-queue.ts'
import { ingestionRoutes, testPurchaseRoutes } from './ingestion/routes.ts'
import type { CommitQueue } from './metrics/ingestion-metrics.ts'
import { notificationRoutes } from './notifications/routes.ts'
import { lazyAuthorizationServer } from './oauth/authorization-server.ts'
import { oauthRoutes } from './oauth/routes.ts'
import { homeRoute } from './pages/home-page.ts'
import { assetRoutes } from './pages/serve-pages.ts'
import type { SocialClients } from './people/auth-library.ts'
import type { Mailer } from './people/mail/mail-queue.ts'
import { type AdAccountListener, createPeopleContext } from './people/people-context.ts'
import { peopleRoutes } from './people/routes.ts'
import type { SignUpPolicy } from './people/sign-up-policy.ts'
import type { PlatformRegistry } from './platforms/registry.ts'
import { reportRoutes } from './reports/routes.ts'
import { sandboxRoutes } from './sandbox/routes.ts'
import type { Network } from './util/ip-address.ts'
import { monotonicSeconds } from './util/time.ts'

export interface ServerOptions {
  database: Database
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
  /** Deliveries were planned in this process. */
  onPlanned: () => void
  /** For metrics. */
  onAnswered?: (answered: CompletedRequest) => void
  onCommitted?: (group: CommittedGroup) => void
  onLimited?: (name: LimitName) => void
  onShed?: () => void
  /** The state of the circuits of this process; left out where it delivers nothing. */
  circuits?: () => CircuitCounts | Promise<CircuitCounts>
  /** Memory that the HTTP workers of one process share; left out, it serves alone. */
  shared?: { limits: LimitMemory; destinationChanges: SharedArrayBuffer }
}

export interface Server {
  app: ServiceApp
  /** The start is complete: `/readyz` may return 200. */
  markReady(): void
  /** Events that wait for a commit now. */
  commitQueue(): CommitQueue
  commitHealth: CommitHealth
  /** Stops accepting requests, answers open ones, and commits their events. */
  close(): Promise<void>
}

/** Assembles the HTTP service: requests, group commits, limits, and the routes of all modules. */
export function createServer(options: ServerOptions): Server {
  const { database, logger, now } = options
  const app = createServiceApp(logger, options.onAnswered, options.publicOrigin)
  const routes = new DestinationRouteCache(database, now, options.shared?.destinationChanges)
  const announce = limitedAnnouncements(options)
  const { credentialKeys } = options
  const erasureKey = createErasureKeyProvider({ database, credentialKeys, now })
  const nodes = options.nodes ?? singleNode(database)
  const commitHealth = createCommitHealth({ monotonicSeconds, ...options, nodes })
  const parts = { nodes, routes, announce, erasureKey }
  const commits = createEventCommitQueue({
    ...options,
    ...parts,
    health: commitHealth,
    onDeliveriesPlanned: announce,
  })
  let pause: string | null = 'start'

  const limits = limitAndGuard(app, options)
  healthRoutes(app, {
    checks: [
      { name: 'store', check: () => database.ping() },
      { name: 'commits', check: () => commitHealth.check() },
    ],
    pauseReason: () => pause,
    ...(options.circuits && { circuits: options.circuits }),
  })
  const keys = deriveAuditKeys(credentialKeys)
  const written = { auditKeys: keys, audit: createAuditTrail(keys) }
  registerRoutes(app, options, { ...parts, commits, limits, ...written })

  const close = async () => {
    pause = 'shutdown'
    await app.close()
    await commits.drain()
  }
  const markReady = () => {
    pause = null
  }
  const commitQueue = () => ({ queued: commits.queued, refusals: commits.refusals })
  return { app, markReady, commitQueue, commitHealth, close }
}

interface RouteDependencies extends CommitDependencies {
  commits: ReturnType<typeof createEventCommitQueue>
  limits: RequestLimits
  auditKeys: AuditKeys
  audit: AuditTrail
}

/** Registers the routes of every module. */
function registerRoutes(app: ServiceApp, options: ServerOptions, parts: RouteDependencies): void {
  const { database, now, publicOrigin, contractKeys, securityContact, credentialKeys } = options
  const { routes, announce, erasureKey, commits, limits, audit } = parts
  const onTestModeSwitched = () => routes.invalidate()
  const { testModeSeconds, delivery, platforms, additionalConsentProvider } = options
  const masterKey = options.credentialKeys.current

  assetRoutes(app)
  homeRoute(app)
  const { mails, social, signUp, logger } = options
  const addressOf = createClientAddressReader(createTrustedProxies(options.trustedProxies))
  const people = { database, audit, logger, now, publicOrigin, addressOf, mailer: mails }
  const access = { social, signUp, limits, masterKey, onAdAccountAdded: withCampaigns }
  peopleRoutes(app, createPeopleContext({ ...people, ...access }))
  oauthRoutes(app, oauthContext(options, parts))
  notificationRoutes(app, { database, now, publicOrigin, audit, credentialKeys })
  agentsRoutes(app, agentsContext(options, parts))
  documentRoutes(app, { contractKeys, securityContact, now, publicOrigin })
  app.register(
    async api => {
      const rules = { platforms, additionalConsentProvider }
      const acceptance = { ...rules, commits, database, erasureKey }
      ingestionRoutes(api, { ...acceptance, now, publicOrigin })
      const replays = { onTestModeSwitched, onQueued: announce }
      deliveryRoutes(api, { database, audit, platforms, now, testModeSeconds, ...replays })
      testPurchaseRoutes(api, { delivery, erasureKey })
      reportRoutes(api, { database, platforms, now, publicOrigin })
      erasureRoutes(api, { database, now, audit, erasureKey })
      const sandbox = { sandboxKeySecret: masterKey, limit: limits.sandbox }
      sandboxRoutes(api, { now, publicOrigin, ...rules, ...sandbox })
    },
    { prefix: BASE_PATH },
  )
}

/** Every new ad account gets simulated campaigns. */
const withCampaigns: AdAccountListener = (transaction, account) => {
  const { id: adAccountId, platformAccountId, name, createdAt: at } = account
  return seedSimulatedAccount(transaction, { adAccountId, platformAccountId, name, at })
}

/** Requests do not wait until the time of last use is stored, so a failure is logged here. */
function createTouchErrorHandler(logger: ServiceLogger) {
  return (err: unknown) => logger.warn({ err }, 'the time of last use was not stored')
}

function agentsContext(
  options: ServerOptions,
  { commits, limits, audit, auditKeys }: RouteDependencies,
) {
  const { database, now, publicOrigin, logger, mcpOrigins, platforms } = options
  const onTouchError = createTouchErrorHandler(logger)
  const verifyTracker = (trackerId: string) =>
    verifyIngestion({ commits, platforms }, { trackerId }, now())
  const parts = { logger, limits, audit, auditKeys, onTouchError, verifyTracker }
  return {
    database,
    now,
    publicOrigin,
    mcpOrigins,
    platform: createSimulatedPlatform(database),
    ...parts,
  }
}

function oauthContext(options: ServerOptions, { limits, audit }: RouteDependencies) {
  const { database, now, publicOrigin, credentialKeys, nativeSchemes, logger } = options
  const provider = lazyAuthorizationServer({
    database,
    now,
    audit,
    publicOrigin,
    credentialKeys,
    limits,
    logger,
  })
  const onTouchError = createTouchErrorHandler(logger)
  return { database, now, publicOrigin, audit, provider, nativeSchemes, limits, onTouchError }
}

/** Limits requests to what this process can serve, and to each caller's share. */
function limitAndGuard(app: ServiceApp, options: ServerOptions): RequestLimits {
  const { database, logger, now } = options
  const onTouchError = createTouchErrorHandler(logger)
  const proxies = createTrustedProxies(options.trustedProxies)
  return limitRequests(app, {
    ...options.limits,
    addressOf: createClientAddressReader(proxies),
    monotonicSeconds: options.monotonicSeconds ?? monotonicSeconds,
    readDelaySeconds: options.readDelaySeconds,
    onLimited: options.onLimited ?? (() => {}),
    onShed: options.onShed ?? (() => {}),
    memory: options.shared?.limits,
    guard: () =>
      guardRoutes(
        app,
        createTrackerAuthenticator(database, { now, onTouchError }),
        createBrowserAuthenticator(database, { now, onTouchError, proxies }),
      ),
  })
}

interface CommitDependencies {
  nodes: StoreNodes
  routes: DestinationRouteCache
  announce: () => void
  erasureKey: ErasureKeyProvider
}

const ANNOUNCEMENT_MILLISECONDS = 100

/** Under load ten notifications a second are enough: a worker that wakes checks all queues. */
function limitedAnnouncements({ database, logger, onPlanned }: ServerOptions): () => void {
  let last = Number.NEGATIVE_INFINITY
  return () => {
    onPlanned()
    const moment = performance.now()
    if (moment - last < ANNOUNCEMENT_MILLISECONDS) return
    last = moment
    announceDeliveries(database).catch(err =>
      logger.warn({ err }, 'the delivery workers were not notified'),
    )
  }
}
