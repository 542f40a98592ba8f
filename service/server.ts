import { BASE_PATH } from '@signalbox/contract/operations.ts'
import type { ContractKeys } from '@signalbox/contract/signing-key.ts'
import { trackerAuthentication } from './access/authenticate-tracker.ts'
import { browserAdmission } from './access/browser-admission.ts'
import { clientAddress } from './access/client-address.ts'
import { guardRoutes } from './access/guard-routes.ts'
import { limitRequests } from './access/limit-requests.ts'
import type {
  LimitMemory,
  LimitName,
  RequestLimits,
  RequestRates,
} from './access/request-limits.ts'
import { trustedProxies } from './access/trusted-proxies.ts'
import { type AuditTrail, auditTrail } from './agents/audit/audit-trail.ts'
import { type AuditKeys, auditKeys } from './agents/audit/head-signature.ts'
import { seedSimulatedAccount } from './agents/executor/seed-simulated-account.ts'
import { simulatedPlatform } from './agents/executor/simulated-platform.ts'
import { agentsRoutes } from './agents/routes.ts'
import type { Database } from './db/database.ts'
import { type StoreNodes, singleNode } from './db/store-nodes.ts'
import type { CircuitCounts } from './delivery/circuit-moves.ts'
import type { DeliveryContext } from './delivery/delivery-context.ts'
import { DestinationRoutes } from './delivery/destination-routes.ts'
import { deliveryRoutes } from './delivery/routes.ts'
import type { CredentialKeys } from './delivery/sealed-credential.ts'
import { steadySeconds } from './delivery/steady-seconds.ts'
import {
  announceDeliveries,
  skipWaitingOfVisitor,
  type WithdrawnVisitor,
} from './delivery/store.ts'
import { documentRoutes } from './documents/routes.ts'
import { erasureKeySource } from './erasure/erasure-key.ts'
import { erasureRoutes } from './erasure/routes.ts'
import { healthRoutes } from './http/routes.ts'
import {
  type AnsweredRequest,
  createServiceApp,
  type ServiceApp,
  type ServiceLogger,
} from './http/service-app.ts'
import { type CommitHealth, healthOfCommits } from './ingestion/commit-health.ts'
import type { ErasureKeySource } from './ingestion/erasure-watch.ts'
import { type CommittedEvents, eventCommits } from './ingestion/event-commits.ts'
import { ingestionRoutes } from './ingestion/routes.ts'
import { testPurchaseRoutes } from './ingestion/test-purchase-routes.ts'
import { verifyIngestion } from './ingestion/verify-ingestion.ts'
import type { CommitQueue } from './metrics/commit-metrics.ts'
import { providerSource } from './oauth/provider-source.ts'
import { oauthRoutes } from './oauth/routes.ts'
import { pageRoutes } from './pages/routes.ts'
import type { SocialClients } from './people/auth-library.ts'
import type { Mails } from './people/mail/mails.ts'
import { type AdAccountWatcher, peopleContext } from './people/people-context.ts'
import { peopleRoutes } from './people/routes.ts'
import type { Platform } from './platforms/platform.ts'
import { reportRoutes } from './reports/routes.ts'
import { sandboxRoutes } from './sandbox/routes.ts'
import type { Network } from './settings/networks.ts'

export interface ServerOptions {
  database: Database
  /** Where trackers live; left out, in the database. */
  nodes?: StoreNodes
  platform: Platform
  /** For a test purchase, which is sent at once; null where the platform is not known. */
  delivery: DeliveryContext | null
  testModeSeconds: number
  /** What is sealed is opened with them, and sandbox keys come from the current one. */
  credentialKeys: CredentialKeys
  /** What the served contract is signed with. */
  contractKeys: ContractKeys
  /** Where holes are reported, as a URI; without it there is no security.txt. */
  securityContact: string | undefined
  logger: ServiceLogger
  now: () => Date
  publicOrigin: () => string
  /** Proxies that are believed when they say which browser they speak for. */
  trustedProxies: readonly Network[]
  /** Where mails to people are handed in. */
  mails: Mails
  /** Providers that people may sign in with. */
  social: SocialClients
  /** Schemes of native clients that OAuth may send people back to. */
  nativeSchemes: readonly string[]
  /** Other origins whose pages may call the MCP server. */
  mcpOrigins: readonly string[]
  ingestQueueMax: number
  commitEventsMax: number
  /** What is let in; each limit may be 0, for none. */
  limits: RequestRates & { eventLoopDelayMillisecondsMax: number }
  /** Tests give a clock that stands still, and a delay of their own. */
  steadySeconds?: () => number
  readDelaySeconds?: () => number
  /** Deliveries were planned in this process. */
  onPlanned: () => void
  /** For counting. */
  onAnswered?: (answered: AnsweredRequest) => void
  onCommitted?: (group: CommittedEvents) => void
  onLimited?: (name: LimitName) => void
  onShed?: () => void
  /** How the lanes of this process are; left out where it delivers nothing. */
  circuits?: () => CircuitCounts | Promise<CircuitCounts>
  /** What the HTTP workers of one process have in common; left out, it serves alone. */
  shared?: { limits: LimitMemory; destinationChanges: SharedArrayBuffer }
}

export interface Server {
  app: ServiceApp
  /** Everything around the service is there: `/readyz` may say so. */
  markReady(): void
  /** What waits for a commit at this moment. */
  commitQueue(): CommitQueue
  commitHealth: CommitHealth
  /** Stops accepting, answers what was accepted, and commits it. */
  close(): Promise<void>
}

/** Answers, commits and their limits, around the register of rooms below. */
export function createServer(options: ServerOptions): Server {
  const { database, logger, now } = options
  const app = createServiceApp(logger, options.onAnswered)
  const routes = new DestinationRoutes(database, now, options.shared?.destinationChanges)
  const announce = limitedAnnouncements(options)
  const { credentialKeys } = options
  const erasureKey = erasureKeySource({ database, credentialKeys, now })
  const nodes = options.nodes ?? singleNode(database)
  const commitHealth = healthOfCommits({ steadySeconds, ...options, nodes })
  const parts = { nodes, routes, announce, erasureKey }
  const commits = eventCommits({ ...options, ...parts, health: commitHealth, onPlanned: announce })
  let pause: string | null = 'start'

  const limits = limitAndGuard(app, options)
  healthRoutes(app, {
    checks: [
      { name: 'store', check: () => database.reach() },
      { name: 'commits', check: () => commitHealth.check() },
    ],
    pause: () => pause,
    ...(options.circuits && { circuits: options.circuits }),
  })
  const keys = auditKeys(credentialKeys)
  const written = { auditKeys: keys, audit: auditTrail(keys) }
  registerRooms(app, options, { ...parts, commits, limits, ...written })

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

interface RoomParts extends CommitParts {
  commits: ReturnType<typeof eventCommits>
  limits: RequestLimits
  auditKeys: AuditKeys
  audit: AuditTrail
}

/** The register: every room that speaks HTTP, one line each. */
function registerRooms(app: ServiceApp, options: ServerOptions, parts: RoomParts): void {
  const { database, now, publicOrigin, contractKeys, securityContact } = options
  const { routes, announce, erasureKey, commits, limits, audit } = parts
  const stopWaiting = (visitor: WithdrawnVisitor) => skipWaitingOfVisitor(database, visitor)
  const onTestModeSwitched = () => routes.changed()
  const { testModeSeconds, delivery } = options
  const masterKey = options.credentialKeys.current

  pageRoutes(app)
  const { mails, social, logger } = options
  const people = { database, logger, now, publicOrigin, mails, social, limits }
  peopleRoutes(app, peopleContext({ ...people, masterKey, onAdAccountAdded: withCampaigns }))
  oauthRoutes(app, oauthContext(options, parts))
  agentsRoutes(app, agentsContext(options, parts))
  documentRoutes(app, { contractKeys, securityContact, now, publicOrigin })
  app.register(
    async api => {
      ingestionRoutes(api, { commits, now, publicOrigin, stopWaiting })
      const replays = { onTestModeSwitched, onQueued: announce }
      deliveryRoutes(api, { database, audit, now, testModeSeconds, ...replays })
      testPurchaseRoutes(api, { delivery })
      reportRoutes(api, { database, now, publicOrigin })
      erasureRoutes(api, { database, now, audit, erasureKey })
      const sandbox = { sandboxKeySecret: masterKey, limit: limits.sandbox }
      sandboxRoutes(api, { now, publicOrigin, ...sandbox })
    },
    { prefix: BASE_PATH },
  )
}

/** Every ad account has simulated campaigns from the beginning. */
const withCampaigns: AdAccountWatcher = (transaction, account) => {
  const { id: adAccountId, platformAccountId, name, createdAt: at } = account
  return seedSimulatedAccount(transaction, { adAccountId, platformAccountId, name, at })
}

/** Requests do not wait for the time of last use to be written, so its failure is logged here. */
function touchErrorTeller(logger: ServiceLogger) {
  return (err: unknown) => logger.warn({ err }, 'the time of last use was not kept')
}

function agentsContext(options: ServerOptions, { commits, limits, audit, auditKeys }: RoomParts) {
  const { database, now, publicOrigin, logger, mcpOrigins } = options
  const onTouchError = touchErrorTeller(logger)
  const verifyTracker = (trackerId: string) => verifyIngestion({ commits }, { trackerId }, now())
  const parts = { logger, limits, audit, auditKeys, onTouchError, verifyTracker }
  return { database, now, publicOrigin, mcpOrigins, platform: simulatedPlatform, ...parts }
}

function oauthContext(options: ServerOptions, { limits, audit }: RoomParts) {
  const { database, now, publicOrigin, credentialKeys, nativeSchemes, logger } = options
  const provider = providerSource({ database, now, audit, publicOrigin, credentialKeys, logger })
  const onTouchError = touchErrorTeller(logger)
  return { database, now, publicOrigin, audit, provider, nativeSchemes, limits, onTouchError }
}

/** Who is let in: not more than this process can do, nor more than a caller's share. */
function limitAndGuard(app: ServiceApp, options: ServerOptions): RequestLimits {
  const { database, logger, now } = options
  const onTouchError = touchErrorTeller(logger)
  const proxies = trustedProxies(options.trustedProxies)
  return limitRequests(app, {
    ...options.limits,
    addressOf: clientAddress(proxies),
    steadySeconds: options.steadySeconds ?? steadySeconds,
    readDelaySeconds: options.readDelaySeconds,
    onLimited: options.onLimited ?? (() => {}),
    onShed: options.onShed ?? (() => {}),
    memory: options.shared?.limits,
    guard: () =>
      guardRoutes(
        app,
        trackerAuthentication(database, { now, onTouchError }),
        browserAdmission(database, { now, onTouchError, proxies }),
      ),
  })
}

interface CommitParts {
  nodes: StoreNodes
  routes: DestinationRoutes
  announce: () => void
  erasureKey: ErasureKeySource
}

const ANNOUNCEMENT_MILLISECONDS = 100

/** Under load one notice in a tenth of a second is enough: a woken worker looks at everything. */
function limitedAnnouncements({ database, logger, onPlanned }: ServerOptions): () => void {
  let last = Number.NEGATIVE_INFINITY
  return () => {
    onPlanned()
    const moment = performance.now()
    if (moment - last < ANNOUNCEMENT_MILLISECONDS) return
    last = moment
    announceDeliveries(database).catch(err => logger.warn({ err }, 'workers were not woken'))
  }
}
