import {
  type Context,
  DiagLogLevel,
  diag,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto'
import { resourceFromAttributes } from '@opentelemetry/resources'
import {
  BatchSpanProcessor,
  type IdGenerator,
  ParentBasedSampler,
  RandomIdGenerator,
  SamplingDecision,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace'
import { eventTrace, type Span, type SpanOptions, type SpanRef, type Tracer } from './tracer.ts'

export interface ExporterOptions {
  /** Receives OTLP over HTTP, with the path. */
  url: string
  headers: Record<string, string>
  serviceName: string
  serviceVersion: string
  /** The command of this process, such as `deliver`. */
  role: string
  /** From 0 to 1. */
  sampledShare: number
  /** Traces could not be exported; called once a minute at most. */
  onError: (message: string) => void
}

export interface RunningTracer extends Tracer {
  /** Exports what is left. Never throws. */
  close(): Promise<void>
}

/** Above 1,000 links the exporters of most products cut; a batch has at most as many events. */
const LINKS_MAX = 1_000
const LIMITS = { linkCountLimit: LINKS_MAX, attributeValueLengthLimit: 256 }
/** A second of ten thousand spans, and a request that stays below one megabyte. */
const QUEUE = { maxQueueSize: 10_000, maxExportBatchSize: 1_000, scheduledDelayMillis: 2_000 }

/** A shutdown waits for one export at most this long. */
const EXPORT_MILLISECONDS_MAX = 3_000

/** Starts the official SDK, for this thread. Nothing is registered globally. */
export function startOpenTelemetry(options: ExporterOptions): RunningTracer {
  const report = reportErrors(options.onError)
  const ids = new EventIdGenerator()
  const root = new TraceIdRatioBasedSampler(options.sampledShare)
  const provider = new TracerProvider({
    resource: resourceFromAttributes({
      'service.name': options.serviceName,
      'service.version': options.serviceVersion,
      'signalbox.role': options.role,
    }),
    sampler: new ParentBasedSampler({ root }),
    idGenerator: ids,
    spanLimits: LIMITS,
    spanProcessors: [
      new BatchSpanProcessor({
        exporter: new OTLPTraceExporter({
          url: options.url,
          headers: options.headers,
          timeoutMillis: EXPORT_MILLISECONDS_MAX,
        }),
        ...QUEUE,
      }),
    ],
  })
  const tracer = provider.getTracer('signalbox', options.serviceVersion)
  const startSpan = (name: string, { parent, ...rest }: SpanOptions) =>
    wrapSpan(tracer.startSpan(name, toSdkOptions(rest), toContext(parent ?? null)))
  return {
    startSpan,
    startEventSpan: (event, rest) => {
      ids.next = eventTrace(event)
      try {
        return startSpan('event', rest)
      } finally {
        ids.next = null
      }
    },
    eventRef: event => {
      const place = eventTrace(event)
      const { decision } = root.shouldSample(ROOT_CONTEXT, place.traceId)
      return { ...place, isSampled: decision === SamplingDecision.RECORD_AND_SAMPLED }
    },
    close: () => provider.shutdown().catch(error => report(String(error))),
  }
}

/** Random IDs, except while the span of an event starts. */
class EventIdGenerator implements IdGenerator {
  readonly #random = new RandomIdGenerator()
  next: { traceId: string; spanId: string } | null = null

  generateTraceId(): string {
    return this.next?.traceId ?? this.#random.generateTraceId()
  }

  generateSpanId(): string {
    return this.next?.spanId ?? this.#random.generateSpanId()
  }
}

const KINDS: Record<SpanOptions['kind'], SpanKind> = {
  server: SpanKind.SERVER,
  client: SpanKind.CLIENT,
  internal: SpanKind.INTERNAL,
  producer: SpanKind.PRODUCER,
  consumer: SpanKind.CONSUMER,
}

function toSdkOptions({ kind, links = [], attributes = {}, startedAt }: SpanOptions) {
  return {
    kind: KINDS[kind],
    attributes,
    links: links.slice(0, LINKS_MAX).map(ref => ({ context: toSpanContext(ref) })),
    ...(startedAt !== undefined && { startTime: performance.timeOrigin + startedAt }),
  }
}

function toSpanContext({ traceId, spanId, isSampled }: SpanRef) {
  return { traceId, spanId, traceFlags: isSampled ? 1 : 0, isRemote: true }
}

function toContext(parent: SpanRef | null): Context {
  return parent ? trace.setSpanContext(ROOT_CONTEXT, toSpanContext(parent)) : ROOT_CONTEXT
}

function wrapSpan(span: ReturnType<ReturnType<TracerProvider['getTracer']>['startSpan']>): Span {
  const { traceId, spanId, traceFlags } = span.spanContext()
  return {
    ref: { traceId, spanId, isSampled: (traceFlags & 1) === 1 },
    link: ref => void span.addLink({ context: toSpanContext(ref) }),
    end: (attributes = {}, error = null) => {
      span.setAttributes(attributes)
      if (error !== null) {
        span.setAttribute('error.type', error)
        span.setStatus({ code: SpanStatusCode.ERROR })
      }
      span.end()
    },
  }
}

const REPORT_MILLISECONDS = 60_000
const MESSAGE_CHARACTERS_MAX = 300

/** A receiver that is away fails every two seconds, and the SDK is silent unless it is asked. */
function reportErrors(onError: (message: string) => void): (message: string) => void {
  let reportedAt = Number.NEGATIVE_INFINITY
  const report = (message: string) => {
    if (performance.now() - reportedAt < REPORT_MILLISECONDS) return
    reportedAt = performance.now()
    onError(readMessage(message))
  }
  const ignore = () => {}
  const logger = { error: report, warn: report, info: ignore, debug: ignore, verbose: ignore }
  diag.setLogger(logger, { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true })
  return report
}

/** The SDK writes an error as JSON with its stack. */
function readMessage(text: string): string {
  const [, message = text] = /"message":"((?:[^"\\]|\\.)*)"/.exec(text) ?? []
  return message.slice(0, MESSAGE_CHARACTERS_MAX)
}
