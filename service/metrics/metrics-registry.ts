import { collectDefaultMetrics, Registry } from 'prom-client'
import type { MetricsPage } from '../http/metrics-server.ts'

/** Everything that one process counts. There is no global one: a test may have two. */
export type MetricsRegistry = Registry

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
