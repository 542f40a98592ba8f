import { countPending } from '../../agents/proposals/action-list-store.ts'
import {
  type MetricsServer,
  type MetricsServerOptions,
  startMetricsServer,
} from '../../runtime/http/metrics-server.ts'
import { findTracesUrl } from '../../runtime/settings/operation-settings.ts'
import type { Settings } from '../../runtime/settings/settings.ts'
import type { RunningTracer } from '../../runtime/tracing/open-telemetry.ts'
import {
  readBacklog,
  readLastDeliveryId,
  readWaiting,
} from '../../signals/delivery/backlog-store.ts'
import { computeRetentionCutoff, readRetentionLag } from '../../signals/events/partition-store.ts'
import { countOpenAlerts } from '../../signals/reports/alert-store.ts'
import { countOpenWorkspaceAlerts } from '../../workspaces/notifications/audit-alert-store.ts'
import {
  registerBacklogMetrics,
  registerConnectionMetrics,
  registerPendingActionMetrics,
  registerRetentionMetrics,
  registerServerMetrics,
  registerWaitingDeliveryMetrics,
} from '../metrics/database-metrics.ts'
import { registerOpenAlertMetrics } from '../metrics/delivery-metrics.ts'
import {
  createMetricsRegistry,
  type MetricsRegistry,
  type MetricsSnapshot,
  renderMetricsOfThreads,
} from '../metrics/metrics-registry.ts'
import type { Store } from './open-store.ts'
import { createListenError, formatUrlHost, type RoleContext } from './role.ts'

/** The version of the packages, which `npm run release` sets. The contract has its own. */
const PROGRAM_VERSION = '0.5.0'

export interface RunningMetrics {
  /** The modules of the process register their metrics here. */
  registry: MetricsRegistry
  url: string
  /** Adds the metrics of other threads of this process to the page. */
  addWorkerSnapshots(snapshots: () => Promise<MetricsSnapshot[]>): void
  close(): Promise<void>
}

const PORT_MAX = 65_535

/**
 * Starts the metrics server with the metrics of the process and of the store; modules that start
 * later add their own. Throws a StartError when it cannot listen.
 */
export async function startMetrics(
  context: RoleContext,
  { database, nodes }: Store,
): Promise<RunningMetrics> {
  const registry = createMetricsRegistry()
  registerConnectionMetrics(registry, database.pool)
  registerServerMetrics(registry, () => nodes.checkServers())
  registerBacklogMetrics(registry, () => readBacklog(database, context.now()))
  registerWaitingDeliveryMetrics(registry, () => readWaiting(database, context.now()))
  registerRetentionMetrics(registry, {
    readLag: () => readRetentionLag(database, retentionCutoffs(context)),
    readLastDeliveryId: () => readLastDeliveryId(database),
  })
  registerOpenAlertMetrics(registry, async () => ({
    ...(await countOpenAlerts(database)),
    ...(await countOpenWorkspaceAlerts(database)),
  }))
  registerPendingActionMetrics(registry, () => countPending(database))
  let threads = async (): Promise<MetricsSnapshot[]> => []
  const server = await listen(context, async format =>
    renderMetricsOfThreads(registry, await threads(), format),
  )
  const url = `http://${formatUrlHost(context.settings.metricsHost)}:${server.port}/metrics`
  const addThreads = (snapshots: typeof threads) => {
    threads = snapshots
  }
  return { registry, url, addWorkerSnapshots: addThreads, close: server.close }
}

async function listen(
  context: RoleContext,
  page: MetricsServerOptions['page'],
): Promise<MetricsServer> {
  const { settings, logger } = context
  const host = settings.metricsHost
  const port = settings.metricsPort || chooseDefaultPort(settings)
  try {
    return await startMetricsServer({ host, port, page })
  } catch (cause) {
    const isTaken = (cause as NodeJS.ErrnoException).code === 'EADDRINUSE'
    if (!isTaken || settings.metricsPort > 0 || port === 0)
      throw toListenError(cause, settings, port)
  }
  logger.warn({ port }, 'the port for the metrics is taken; they use another one')
  return startMetricsServer({ host, port: 0, page })
}

/** Two above the HTTP port, since the simulator is one above it. 0 takes any free port. */
function chooseDefaultPort({ port }: Settings): number {
  return port === 0 || port + 2 > PORT_MAX ? 0 : port + 2
}

function toListenError(cause: unknown, { metricsHost }: Settings, port: number) {
  const variables = { host: 'SIGNALBOX_METRICS_HOST', port: 'SIGNALBOX_METRICS_PORT' } as const
  return createListenError(cause, { host: metricsHost, port, variables })
}

function retentionCutoffs({ settings, now }: RoleContext) {
  const at = now()
  return {
    payloads: computeRetentionCutoff(at, { days: settings.payloadRetentionDays }),
    ledger: computeRetentionCutoff(at, { months: settings.ledgerRetentionMonths }),
  }
}

/** Null unless a receiver of traces is configured: then the SDK is not even loaded. */
export async function startTracing(
  { settings, logger }: Pick<RoleContext, 'settings' | 'logger'>,
  role: string,
): Promise<RunningTracer | null> {
  const url = findTracesUrl(settings)
  if (url === null) return null
  const { startOpenTelemetry } = await import('../../runtime/tracing/open-telemetry.ts')
  return startOpenTelemetry({
    url,
    headers: parseHeaders(settings.otlpHeaders ?? ''),
    serviceName: settings.otelServiceName,
    serviceVersion: PROGRAM_VERSION,
    role,
    sampledShare: Number(settings.traceShare),
    onError: reason => logger.warn({ reason }, 'traces could not be exported'),
  })
}

/** Pairs as in the specification of OpenTelemetry: `name=value,name=value`. */
function parseHeaders(text: string): Record<string, string> {
  const pairs = text.split(',').filter(pair => pair !== '')
  return Object.fromEntries(
    pairs.map(pair => {
      const at = pair.indexOf('=')
      return [pair.slice(0, at).trim(), percentDecode(pair.slice(at + 1).trim())]
    }),
  )
}

function percentDecode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
