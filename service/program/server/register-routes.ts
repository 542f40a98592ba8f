import { BASE_PATH } from '@signalbox/contract/operations.ts'
import { seedSimulatedAccount } from '../../agents/campaigns/simulated-account-store.ts'
import { createSimulatedCampaignApi } from '../../agents/campaigns/simulated-campaign-store.ts'
import { agentsRoutes } from '../../agents/routes.ts'
import type { AuditTrail } from '../../audit/audit-store.ts'
import type { AuditKeys } from '../../audit/signed-head.ts'
import { dashboardRoutes } from '../../dashboard/routes.ts'
import type { StoreNodes } from '../../runtime/db/store-nodes.ts'
import {
  createClientAddressReader,
  createTrustedProxies,
} from '../../runtime/http/client-address.ts'
import type { RequestLimits } from '../../runtime/http/request-limits.ts'
import type { ServiceApp, ServiceLogger } from '../../runtime/http/service-app.ts'
import { useErrorPages } from '../../runtime/pages/error-pages.ts'
import { assetRoutes, pageHeaders } from '../../runtime/pages/serve-pages.ts'
import type { StoreActivity } from '../../signals/delivery/destination-queue-store.ts'
import type { DestinationRouteCache } from '../../signals/delivery/plan-store.ts'
import { deliveryRoutes } from '../../signals/delivery/routes.ts'
import { erasureRoutes } from '../../signals/erasure/routes.ts'
import { eventReadRoutes } from '../../signals/event-reads/routes.ts'
import type { ErasureKeyProvider } from '../../signals/events/person-identifiers.ts'
import { verifyIngestion } from '../../signals/ingestion/accept-event.ts'
import type { createEventCommitQueue } from '../../signals/ingestion/event-commit-queue.ts'
import { ingestionRoutes, testPurchaseRoutes } from '../../signals/ingestion/routes.ts'
import { recordRefusals } from '../../signals/refusals/record-refusals.ts'
import type { RefusalRecorder } from '../../signals/refusals/refusal-recorder.ts'
import { reportRoutes } from '../../signals/reports/routes.ts'
import { sandboxRoutes } from '../../signals/sandbox/routes.ts'
import { notificationRoutes } from '../../workspaces/notifications/routes.ts'
import { lazyAuthorizationServer } from '../../workspaces/oauth/authorization-server.ts'
import { oauthRoutes } from '../../workspaces/oauth/routes.ts'
import { userRoutes } from '../../workspaces/users/routes.ts'
import { type AdAccountListener, createUsersContext } from '../../workspaces/users/users-context.ts'
import { documentRoutes } from '../documents/routes.ts'
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
  userRoutes(app, createUsersContext({ ...people, ...access }))
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
      eventReadRoutes(api, { nodes: parts.nodes, platforms, now, publicOrigin })
      reportRoutes(api, { nodes: parts.nodes, now })
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
    campaigns: createSimulatedCampaignApi(database),
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
