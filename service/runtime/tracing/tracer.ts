import { AsyncLocalStorage } from 'node:async_hooks'
import { hash } from 'node:crypto'

/** Where a span stands, in this process or another. */
export interface SpanRef {
  traceId: string
  spanId: string
  isSampled: boolean
}

/** Neither personal data nor secrets: no event ID, no address, no URL with a query. */
export type SpanAttributes = Record<string, string | number | boolean>

export interface SpanOptions {
  kind: 'server' | 'client' | 'internal' | 'producer' | 'consumer'
  /** Left out: the span begins a trace of its own. */
  parent?: SpanRef | null
  /** Other traces that belong to it, such as the requests of one commit. */
  links?: readonly SpanRef[]
  attributes?: SpanAttributes
  /** When it began, by `performance.now()`; left out: now. */
  startedAt?: number
}

/** One step of work with a beginning and an end. */
export interface Span {
  readonly ref: SpanRef
  /** Adds another trace that belongs to it, until it ends. */
  link(ref: SpanRef): void
  /** `error`: why it failed, as a code. */
  end(attributes?: SpanAttributes, error?: string | null): void
}

/** What the program needs of OpenTelemetry. There is none unless an exporter is configured. */
export interface Tracer {
  startSpan(name: string, options: SpanOptions): Span
  /** The span of an event, whose place every process computes: see `eventTrace`. */
  startEventSpan(event: TracedEvent, options: Omit<SpanOptions, 'parent'>): Span
  /** The place of that span, for work on the event in another process. */
  eventRef(event: TracedEvent): SpanRef
}

export interface TracedEvent {
  trackerId: string
  eventId: string
}

/**
 * The trace of an event and its first span, derived from its IDs. An event is delivered later and
 * by another process, and may be replayed months after: its trace is found again without storing
 * it, and an operator computes it with `sha256sum`. The digest does not tell the event ID.
 */
export function eventTrace({ trackerId, eventId }: TracedEvent): Omit<SpanRef, 'isSampled'> {
  const digest = hash('sha256', `${trackerId} ${eventId}`)
  return { traceId: digest.slice(0, 32), spanId: digest.slice(32, 48) }
}

/** W3C Trace Context, level 1. Null for anything else: the request then begins a trace. */
export function parseTraceparent(header: unknown): SpanRef | null {
  if (typeof header !== 'string') return null
  const [, version, traceId = '', spanId = '', flags = ''] = TRACEPARENT.exec(header) ?? []
  if (version === undefined || version === 'ff') return null
  if (version === '00' && header.length !== TRACEPARENT_CHARACTERS) return null
  if (/^0+$/.test(traceId) || /^0+$/.test(spanId)) return null
  return { traceId, spanId, isSampled: (Number.parseInt(flags, 16) & 1) === 1 }
}

const TRACEPARENT = /^([\da-f]{2})-([\da-f]{32})-([\da-f]{16})-([\da-f]{2})(?:-.*)?$/
const TRACEPARENT_CHARACTERS = 55

/** What the code that runs now belongs to. */
export interface ActiveWork {
  span: Span
  /** Null outside of a delivery. */
  trackerId: string | null
}

const active = new AsyncLocalStorage<ActiveWork>()

export function runInSpan<Result>(work: ActiveWork, run: () => Result): Result {
  return active.run(work, run)
}

export function findActiveWork(): ActiveWork | null {
  return active.getStore() ?? null
}

const spans = new WeakMap<object, Span>()

/** Keeps the span of a request for as long as the request. */
export function keepSpan(request: object, span: Span): void {
  spans.set(request, span)
}

export function findSpan(request: object): Span | null {
  return spans.get(request) ?? null
}

/** The trace of a span; null unless it is exported. */
export function traceIdOf(span: Span | null | undefined): string | null {
  return span?.ref.isSampled ? span.ref.traceId : null
}
