import {
  AggregatorRegistry,
  Counter,
  collectDefaultMetrics,
  Gauge,
  Histogram,
  type MetricObject,
  Registry,
} from 'prom-client'
import type { MetricsPage } from '../../runtime/http/metrics-server.ts'
import { type LabelOf, METRICS, type MetricName, type NamesOf } from './metric-table.ts'

/** The metrics of one thread. There is no global registry, so a test can have two. */
export type MetricsRegistry = Registry

/** The current values of one thread, to be added to others. Can be sent between threads. */
export type MetricsSnapshot = MetricObject[]

/** A registry with the metrics of the process: memory, CPU, event loop, files. */
export function createMetricsRegistry(): MetricsRegistry {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  for (const name of SUMS_NAMED_AS_COUNTERS) registry.removeSingleMetric(name)
  return registry
}

/** Gauges of the library that are named as counters: the sums of the gauges by type beside them. */
const SUMS_NAMED_AS_COUNTERS = ['handles', 'requests', 'resources'].map(
  what => `nodejs_active_${what}_total`,
)

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

interface MetricOptions<Metric> {
  /** Sets the current value at each scrape. */
  collect?: (this: Metric) => void | Promise<void>
  /** How the values of several threads become one; their sum by default. */
  aggregator?: 'max'
}

export function createCounter<Name extends NamesOf<'counter'>>(
  registry: MetricsRegistry,
  name: Name,
  options: MetricOptions<Counter<LabelOf<Name>>> = {},
): Counter<LabelOf<Name>> {
  return new Counter<LabelOf<Name>>({ ...describe(registry, name), ...options })
}

export function createGauge<Name extends NamesOf<'gauge'>>(
  registry: MetricsRegistry,
  name: Name,
  options: MetricOptions<Gauge<LabelOf<Name>>> = {},
): Gauge<LabelOf<Name>> {
  return new Gauge<LabelOf<Name>>({ ...describe(registry, name), ...options })
}

export function createHistogram<Name extends NamesOf<'histogram'>>(
  registry: MetricsRegistry,
  name: Name,
  buckets: number[],
): Histogram<LabelOf<Name>> {
  return new Histogram<LabelOf<Name>>({ ...describe(registry, name), buckets })
}

/**
 * A counter with one label, whose values are all shown from the start, so that rates include the
 * first increment. Counting is an addition, without a lookup in the library, which reads the sums
 * at each scrape.
 */
export function createLabelCounter<Value extends string>(
  registry: MetricsRegistry,
  name: NamesOf<'counter'>,
  values: readonly Value[],
): (value: Value, count?: number) => void {
  const sums = Object.fromEntries(values.map(value => [value, 0])) as Record<Value, number>
  const { help, labels } = METRICS[name]
  const [label = ''] = labels
  new Counter<string>({
    name,
    help,
    labelNames: [...labels],
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

function describe<Name extends MetricName>(registry: MetricsRegistry, name: Name) {
  const { help, labels } = METRICS[name]
  return { name, help, labelNames: [...labels] as LabelOf<Name>[], registers: [registry] }
}
