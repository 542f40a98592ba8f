import { BASE_PATH } from '@signalbox/contract/operations.ts'
import { createClientAddressReader, createTrustedProxies } from './access/client-address.ts'
import type { RequestLimits } from './access/request-limits.ts'
import { createSimulatedPlatform } from './agents/executor/ad-entity-store.ts'
import { seedSimulatedAccount } from './agents/executor/simulated-account-store.ts'
import { agentsRoutes } from './agents/routes.ts'
import type { AuditTrail } from './audit/audit-store.ts'
import type { AuditKeys } from './audit/signed-head.ts'
import { dashboardRoutes } from './dashboard/routes.ts'
import type { StoreNodes } from './db/store-nodes.ts'
import type { StoreActivity } from './delivery/destination-queue-store.ts'
import type { DestinationRouteCache } from './delivery/plan-store.ts'
import { deliveryRoutes } from './delivery/routes.ts'
import { documentRoutes } from './documents/routes.ts'
import { erasureRoutes } from './erasure/routes.ts'
import type { ErasureKeyProvider } from './events/person-identifiers.ts'
import type { ServiceApp, ServiceLogger } from './http/service-app.ts'
import { verifyIngestion } from './ingestion/accept-event.ts'
import type { createEventCommitQueue } from './ingestion/event-commit-queue.ts'
import { ingestionRoutes, testPurchaseRoutes } from './ingestion/routes.ts'
import { notificationRoutes } from './notifications/routes.ts'
import { lazyAuthorizationServer } from './oauth/authorization-server.ts'
import { oauthRoutes } from './oauth/routes.ts'
import { useErrorPages } from './pages/error-pages.ts'
import { assetRoutes, pageHeaders } from './pages/serve-pages.ts'
import { type AdAccountListener, createPeopleContext } from './people/people-context.ts'
import { peopleRoutes } from './people/routes.ts'
import { recordRefusals } from './refusals/record-refusals.ts'
import type { RefusalRecorder } from './refusals/refusal-recorder.ts'
import { reportRoutes } from './reports/routes.ts'
import { sandboxRoutes } from './sandbox/routes.ts'
import type { ServerOptions } from './server-options.ts'

export interface CommitDependencies {
  nodes: StoreNodes
  routes: DestinationRouteCache
  announce: (activity: StoreActivity) => void
  erasureKey: ErasureKeyProvider
}

export interface RouteDependencies extends CommitDependencies {
  commits: ReturnType<typeof createEventCommitQueue>
  limits: RequestLimits
  recorder: RefusalRecorder
  auditKeys: AuditKeys
  audit: AuditTrail
}

/** Registers the routes of every module. */
export function registerRoutes(
  app: ServiceApp,
  options: ServerOptions,
  parts: RouteDependencies,
): void {
  const { database, now, publicOrigin, contractKeys, securityContact, credentialKeys } = options
  const { routes, announce, erasureKey, commits, limits, audit } = parts
  const onTestModeSwitched = () => routes.invalidate()
  const onQueued = (trackerId: string) =>
    announce({ trackerIds: [trackerId], hasDueDeliveries: true })
  const { testModeSeconds, delivery, platforms, additionalConsentProvider } = options
  const masterKey = options.credentialKeys.current

  assetRoutes(app)
  useErrorPages(app, pageHeaders)
  const { mails, social, signUp, logger } = options
  const addressOf = createClientAddressReader(createTrustedProxies(options.trustedProxies))
  const { passwordCost } = options
  const people = { database, audit, logger, now, publicOrigin, addressOf, mailer: mails }
  const access = {
    social,
    signUp,
    limits,
    masterKey,
    passwordCost,
    onAdAccountAdded: withCampaigns,
  }
  peopleRoutes(app, createPeopleContext({ ...people, ...access }))
  oauthRoutes(app, oauthContext(options, parts))
  notificationRoutes(app, { database, now, publicOrigin, audit, credentialKeys })
  agentsRoutes(app, agentsContext(options, parts))
  dashboardRoutes(app, {
    ...{ database, audit, logger, now, publicOrigin, platforms, delivery, erasureKey },
    ...{ credentialKeys, testModeSeconds },
    connectionString: options.connectionString,
    streamCounts: options.shared?.streamCounts,
    onDestinationChanged: onTestModeSwitched,
    onDeliveriesQueued: onQueued,
  })
  documentRoutes(app, { contractKeys, securityContact, now, publicOrigin })
  app.register(
    async api => {
      const rules = { platforms, additionalConsentProvider }
      const acceptance = { ...rules, commits, database, erasureKey }
      recordRefusals(api, { recorder: parts.recorder, now })
      ingestionRoutes(api, { ...acceptance, now, publicOrigin })
      const replays = { onTestModeSwitched, onQueued }
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

/** Requests do not wait until the time of last use is stored, so a failure is logged here. */
export function createTouchErrorHandler(logger: ServiceLogger) {
  return (err: unknown) => logger.warn({ err }, 'the time of last use was not stored')
}
