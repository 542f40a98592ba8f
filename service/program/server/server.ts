import { createAuditTrail } from '../../audit/audit-store.ts'
import { deriveAuditKeys } from '../../audit/signed-head.ts'
import { type StoreNodes, singleNode } from '../../runtime/db/store-nodes.ts'
import {
  createClientAddressReader,
  createTrustedProxies,
} from '../../runtime/http/client-address.ts'
import { healthRoutes } from '../../runtime/http/health-routes.ts'
import { limitRequests, type RequestLimits } from '../../runtime/http/request-limits.ts'
import { createServiceApp, type ServiceApp } from '../../runtime/http/service-app.ts'
import { traceRequests } from '../../runtime/http/trace-requests.ts'
import { monotonicSeconds } from '../../runtime/util/time.ts'
import { createPublishableKeyAuthenticator } from '../../signals/access/authenticate-publishable-key.ts'
import { createTrackerAuthenticator } from '../../signals/access/authenticate-tracker.ts'
import { guardRoutes } from '../../signals/access/guard-routes.ts'
import { limitTrackers } from '../../signals/access/tracker-limits.ts'
import {
  ActivityAnnouncer,
  type StoreActivity,
} from '../../signals/delivery/destination-queue-store.ts'
import { DestinationRouteCache } from '../../signals/delivery/plan-store.ts'
import { createErasureKeyProvider } from '../../signals/erasure/erasure-key-store.ts'
import type { ErasureKeyProvider } from '../../signals/events/person-identifiers.ts'
import { type CommitHealth, createCommitHealth } from '../../signals/ingestion/commit-health.ts'
import { createEventCommitQueue } from '../../signals/ingestion/event-commit-queue.ts'
import { RefusalRecorder } from '../../signals/refusals/refusal-recorder.ts'
import { startRefusalWorker } from '../../signals/refusals/worker.ts'
import type { CommitQueue } from '../metrics/ingestion-metrics.ts'
import { createTouchErrorHandler, registerRoutes } from './register-routes.ts'
import type { ServerOptions } from './server-options.ts'

export interface Server {
  app: ServiceApp
  /** The start is complete: `/readyz` may return 200. */
  markReady(): void
  /** Events that wait for a commit now. */
  commitQueue(): CommitQueue
  commitHealth: CommitHealth
  /** Stores the refusals that were counted so far, which otherwise happens every five seconds. */
  flushRefusals(): Promise<void>
  /** Stops accepting requests, answers open ones, and commits their events. */
  close(): Promise<void>
}

/** Assembles the HTTP service: requests, group commits, limits, and the routes of all modules. */
export function createServer(options: ServerOptions): Server {
  const { database, logger, now } = options
  const app = createServiceApp(logger, options.onAnswered, options.publicOrigin)
  if (options.tracer) traceRequests(app, options.tracer)
  const nodes = options.nodes ?? singleNode(database)
  const routes = new DestinationRouteCache(nodes, now, options.shared?.destinationChanges)
  const announce = createAnnouncement(options)
  const { credentialKeys } = options
  const erasureKey = createErasureKeyProvider({ database, credentialKeys, now })
  const commitHealth = createCommitHealth({ monotonicSeconds, ...options, nodes })
  const parts = { nodes, routes, announce, erasureKey }
  const commits = createEventCommitQueue({
    ...options,
    ...parts,
    health: commitHealth,
    onEventsStored: announce,
  })
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
  const keys = deriveAuditKeys(credentialKeys)
  const written = { auditKeys: keys, audit: createAuditTrail(keys, logger) }
  const refusals = startRefusals(options, nodes, erasureKey)
  const { recorder, flush: flushRefusals } = refusals
  registerRoutes(app, options, { ...parts, commits, limits, recorder, ...written })

  const close = async () => {
    pause = 'shutdown'
    await app.close()
    await commits.drain()
    await refusals.stop()
  }
  const markReady = () => {
    pause = null
  }
  const commitQueue = () => ({ queued: commits.queued, refusals: commits.refusals })
  return { app, markReady, commitQueue, commitHealth, flushRefusals, close }
}

function startRefusals(
  { database, logger }: ServerOptions,
  nodes: StoreNodes,
  erasureKey: ErasureKeyProvider,
) {
  const recorder = new RefusalRecorder()
  const onError = (err: unknown) =>
    logger.warn({ err }, 'the counts of refused events were not stored')
  return { recorder, ...startRefusalWorker({ database, nodes, recorder, erasureKey, onError }) }
}

/** Limits requests to what this process can serve, and to each caller's share. */
function limitAndGuard(app: ServiceApp, options: ServerOptions, nodes: StoreNodes): RequestLimits {
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
