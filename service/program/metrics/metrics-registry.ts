import {
  AggregatorRegistry,
  Counter,
  collectDefaultMetrics,
  Gauge,
  Histogram,
  type MetricObject,
  Registry,
  type RegistryContentType,
} from 'prom-client'
import type { MetricsFormat, MetricsPage } from '../../runtime/http/metrics-server.ts'
import { type LabelOf, METRICS, type MetricName, type NamesOf } from './metric-table.ts'

/** The metrics of one thread. There is no global registry, so a test can have two. */
export type MetricsRegistry = Registry

/** The current values of one thread, to be added to others. Can be sent between threads. */
export type MetricsSnapshot = MetricObject[]

/** A registry with the metrics of the process: memory, CPU, event loop, files. */
export function createMetricsRegistry(): MetricsRegistry {
  const registry = new Registry()
  // The library refuses exemplars in any other; the page is rendered from copies in either format.
  registry.setContentType(Registry.OPENMETRICS_CONTENT_TYPE as never)
  collectDefaultMetrics({ register: registry })
  for (const name of SUMS_NAMED_AS_COUNTERS) registry.removeSingleMetric(name)
  return registry
}

/** Gauges of the library that are named as counters: the sums of the gauges by type beside them. */
const SUMS_NAMED_AS_COUNTERS = ['handles', 'requests', 'resources'].map(
  what => `nodejs_active_${what}_total`,
)

/** All current values in the text format of Prometheus. */
export function renderMetrics(registry: MetricsRegistry): Promise<MetricsPage> {
  return renderMetricsOfThreads(registry, [])
}

/** The page of several threads, this one and others, in the format that the scraper asks for. */
export async function renderMetricsOfThreads(
  registry: MetricsRegistry,
  others: readonly MetricsSnapshot[],
  format: MetricsFormat = 'prometheus',
): Promise<MetricsPage> {
  const own = setAggregators(await registry.getMetricsAsJSON())
  const contentType = CONTENT_TYPES[format]
  const all = [own, ...others].map(metrics => metrics.map(one => nameFamily(one, format)))
  const page: Registry<RegistryContentType> = AggregatorRegistry.aggregate(all)
  page.setContentType(contentType)
  if (format === 'openmetrics') await addExemplars(page, all)
  return { contentType, text: await page.metrics() }
}

/** In OpenMetrics a family of counters has no `_total`, and the library adds it to each sample. */
function nameFamily(metric: MetricObject, format: MetricsFormat): MetricObject {
  const isNamed = format === 'openmetrics' && String(metric.type) === 'counter'
  return isNamed ? { ...metric, name: metric.name.replace(/_total$/, '') } : metric
}

const CONTENT_TYPES: Record<MetricsFormat, RegistryContentType> = {
  prometheus: Registry.PROMETHEUS_CONTENT_TYPE,
  openmetrics: Registry.OPENMETRICS_CONTENT_TYPE,
}

/** What the types of the library leave out. */
interface ExemplarValue {
  metricName?: string
  labels: Record<string, string | number>
  exemplar?: { timestamp: number } | null
}

function valuesOf(metric: MetricObject): ExemplarValue[] {
  return (metric as unknown as { values: ExemplarValue[] }).values
}

/** Those of the last observation in any thread, which the sum over threads leaves out. */
async function addExemplars(
  page: Pick<Registry, 'getMetricsAsJSON'>,
  threads: readonly MetricsSnapshot[],
): Promise<void> {
  const keyOf = ({ metricName, labels }: ExemplarValue) => JSON.stringify([metricName, labels])
  const latest = new Map<string, ExemplarValue['exemplar']>()
  for (const value of threads.flat().flatMap(valuesOf)) {
    const known = latest.get(keyOf(value))
    if (value.exemplar && value.exemplar.timestamp >= (known?.timestamp ?? 0))
      latest.set(keyOf(value), value.exemplar)
  }
  if (latest.size === 0) return
  for (const value of (await page.getMetricsAsJSON()).flatMap(valuesOf)) {
    value.exemplar = latest.get(keyOf(value)) ?? null
  }
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

/** Observes a duration. The trace that it belongs to becomes an exemplar of its bucket. */
type ObserveTraced<Label extends string> = (
  seconds: number,
  traceId: string | null,
  labels?: Record<Label, string | number>,
) => void

/**
 * A histogram with exemplars, each with the ID of a trace and nothing else. Without a trace, an
 * observation goes straight to its series.
 */
export function createTracedHistogram<Name extends NamesOf<'histogram'>>(
  registry: MetricsRegistry,
  name: Name,
  buckets: number[],
): ObserveTraced<LabelOf<Name>> {
  const options = { ...describe(registry, name), buckets, enableExemplars: true }
  const histogram = new Histogram<string>(options)
  const series = new Map<string, ReturnType<typeof histogram.labels>>()
  return (seconds, traceId, labels = {} as never) => {
    if (traceId !== null) {
      histogram.observe({ labels, value: seconds, exemplarLabels: { trace_id: traceId } })
      return
    }
    const key = Object.values(labels).join(' ')
    const known = series.get(key) ?? histogram.labels(labels)
    series.set(key, known)
    known.observe(seconds)
  }
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
