import { AggregatorRegistry, collectDefaultMetrics, type MetricObject, Registry } from 'prom-client'
import type { MetricsPage } from '../http/metrics-server.ts'

/** Everything that one thread counts. There is no global one: a test may have two. */
export type MetricsRegistry = Registry

/** The figures of one thread at one moment, for adding up. Can be sent between threads. */
export type MetricsSnapshot = MetricObject[]

/** A registry with the figures of the process itself: memory, processor, event loop, files. */
export function metricsRegistry(): MetricsRegistry {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  return registry
}

/** All figures as they are now, in the text format of Prometheus. */
export async function metricsPage(registry: MetricsRegistry): Promise<MetricsPage> {
  return { contentType: registry.contentType, text: await registry.metrics() }
}

/** The same page for several threads: ours, and others that add to it. */
export async function metricsPageOfThreads(
  registry: MetricsRegistry,
  others: readonly MetricsSnapshot[],
): Promise<MetricsPage> {
  if (others.length === 0) return metricsPage(registry)
  const { contentType } = registry
  const ours = aggregable(await registry.getMetricsAsJSON())
  return { contentType, text: await AggregatorRegistry.aggregate([ours, ...others]).metrics() }
}

/** What a further thread of the process adds to the page: nothing of the process as a whole. */
export async function metricsSnapshot(registry: MetricsRegistry): Promise<MetricsSnapshot> {
  const all = aggregable(await registry.getMetricsAsJSON())
  return all.filter(({ name }) => !name.startsWith('process_'))
}

/**
 * The counts of a thread that ended, added to those of the ones before it: sums that fell when a
 * thread ends would read as a restart of the process.
 */
export async function addEndedThread(
  ended: MetricsSnapshot,
  last: MetricsSnapshot,
): Promise<MetricsSnapshot> {
  const counts = last.filter(({ type }) => COUNTED.has(String(type)))
  if (ended.length === 0) return counts
  return (await AggregatorRegistry.aggregate([ended, counts]).getMetricsAsJSON()) as never
}

const COUNTED = new Set(['counter', 'histogram'])

/**
 * The library leaves out the start of the process, and shows the mean delay of all event loops,
 * which hides one that is stuck.
 */
function aggregable(metrics: readonly MetricObject[]): MetricsSnapshot {
  return metrics.map(metric => {
    if (metric.aggregator === 'omit') return { ...metric, aggregator: 'first' }
    if (metric.aggregator === 'average') return { ...metric, aggregator: 'max' }
    return metric
  })
}
