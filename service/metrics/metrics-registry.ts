import {
  AggregatorRegistry,
  Counter,
  collectDefaultMetrics,
  type MetricObject,
  Registry,
} from 'prom-client'
import type { MetricsPage } from '../http/metrics-server.ts'

/** Everything that one thread counts. There is no global one: a test may have two. */
export type MetricsRegistry = Registry

/** The figures of one thread at one moment, for adding up. Can be sent between threads. */
export type MetricsSnapshot = MetricObject[]

/** A registry with the figures of the process itself: memory, processor, event loop, files. */
export function createMetricsRegistry(): MetricsRegistry {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  return registry
}

/** All figures as they are now, in the text format of Prometheus. */
export async function renderMetrics(registry: MetricsRegistry): Promise<MetricsPage> {
  return { contentType: registry.contentType, text: await registry.metrics() }
}

/** The same page for several threads: ours, and others that add to it. */
export async function renderMetricsOfThreads(
  registry: MetricsRegistry,
  others: readonly MetricsSnapshot[],
): Promise<MetricsPage> {
  if (others.length === 0) return renderMetrics(registry)
  const { contentType } = registry
  const ours = setAggregators(await registry.getMetricsAsJSON())
  return { contentType, text: await AggregatorRegistry.aggregate([ours, ...others]).metrics() }
}

/** What a further thread of the process adds to the page: nothing of the process as a whole. */
export async function takeMetricsSnapshot(registry: MetricsRegistry): Promise<MetricsSnapshot> {
  const all = setAggregators(await registry.getMetricsAsJSON())
  return all.filter(({ name }) => !name.startsWith('process_'))
}

/**
 * The counts of a thread that ended, added to those of the ones before it: sums that fell when a
 * thread ends would read as a restart of the process.
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
 * The library leaves out the start of the process, and shows the mean delay of all event loops,
 * which hides one that is stuck.
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
  /** All there can be; each is shown from the start, so that a rate is known from the first one. */
  values: readonly Value[]
}

/**
 * A counter by one label. To count is an addition, without a look-up in the library; that hears
 * of the sums when somebody asks.
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
