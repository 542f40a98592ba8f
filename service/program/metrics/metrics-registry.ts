import {
  AggregatorRegistry,
  Counter,
  collectDefaultMetrics,
  type MetricObject,
  Registry,
} from 'prom-client'
import type { MetricsPage } from '../../runtime/http/metrics-server.ts'

/** The metrics of one thread. There is no global registry, so a test can have two. */
export type MetricsRegistry = Registry

/** The current values of one thread, to be added to others. Can be sent between threads. */
export type MetricsSnapshot = MetricObject[]

/** A registry with the metrics of the process: memory, CPU, event loop, files. */
export function createMetricsRegistry(): MetricsRegistry {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  return registry
}

/** All current values in the text format of Prometheus. */
export async function renderMetrics(registry: MetricsRegistry): Promise<MetricsPage> {
  return { contentType: registry.contentType, text: await registry.metrics() }
}

/** The same page for several threads: this one and others. */
export async function renderMetricsOfThreads(
  registry: MetricsRegistry,
  others: readonly MetricsSnapshot[],
): Promise<MetricsPage> {
  if (others.length === 0) return renderMetrics(registry)
  const { contentType } = registry
  const own = setAggregators(await registry.getMetricsAsJSON())
  return { contentType, text: await AggregatorRegistry.aggregate([own, ...others]).metrics() }
}

/** What another thread adds to the page, without the metrics of the whole process. */
export async function takeMetricsSnapshot(registry: MetricsRegistry): Promise<MetricsSnapshot> {
  const all = setAggregators(await registry.getMetricsAsJSON())
  return all.filter(({ name }) => !name.startsWith('process_'))
}

/**
 * Adds the counts of a thread that ended to those of earlier ones: a sum that falls when a thread
 * ends would look like a restart of the process.
 */
export async function mergeEndedThread(
  ended: MetricsSnapshot,
  last: MetricsSnapshot,
): Promise<MetricsSnapshot> {
  const counts = last.filter(({ type }) => CUMULATIVE_TYPES.has(String(type)))
  if (ended.length === 0) return counts
  return (await AggregatorRegistry.aggregate([ended, counts]).getMetricsAsJSON()) as never
}

const CUMULATIVE_TYPES = new Set(['counter', 'histogram'])

/**
 * The library omits the start time of the process, and averages the delays of all event loops,
 * which hides one that is blocked.
 */
function setAggregators(metrics: readonly MetricObject[]): MetricsSnapshot {
  return metrics.map(metric => {
    if (metric.aggregator === 'omit') return { ...metric, aggregator: 'first' }
    if (metric.aggregator === 'average') return { ...metric, aggregator: 'max' }
    return metric
  })
}

interface LabelCounterOptions<Value extends string> {
  name: string
  help: string
  label: string
  /** All values; each is shown from the start, so that rates include the first increment. */
  values: readonly Value[]
}

/**
 * A counter with one label. Counting is an addition, without a lookup in the library, which reads
 * the sums at each scrape.
 */
export function createLabelCounter<Value extends string>(
  registry: MetricsRegistry,
  { name, help, label, values }: LabelCounterOptions<Value>,
): (value: Value, count?: number) => void {
  const sums = Object.fromEntries(values.map(value => [value, 0])) as Record<Value, number>
  new Counter({
    name,
    help,
    labelNames: [label],
    registers: [registry],
    collect() {
      this.reset()
      for (const value of values) this.inc({ [label]: value }, sums[value])
    },
  })
  return (value, count = 1) => {
    sums[value] += count
  }
}
