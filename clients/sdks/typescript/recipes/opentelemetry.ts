import {
  context,
  propagation,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api'
import type { Hooks } from '@signalbox/sdk'

/**
 * Hooks that make a span of each attempt, below the span that is active, and send `traceparent`.
 * Pass them to the client: `new Signalbox({ hooks: traceRequests() })`.
 */
export function traceRequests(): Hooks {
  const tracer = trace.getTracer('@signalbox/sdk')
  // The headers are one object for all hooks of an attempt.
  const spans = new WeakMap<Record<string, string>, Span>()
  return {
    onRequest({ operation, method, path, attempt, headers }) {
      const attributes = {
        'http.request.method': method,
        // The path has ids of events: `operation` groups better.
        'url.path': path,
        ...(attempt > 1 && { 'http.request.resend_count': attempt - 1 }),
      }
      const span = tracer.startSpan(operation, { kind: SpanKind.CLIENT, attributes })
      propagation.inject(trace.setSpan(context.active(), span), headers)
      spans.set(headers, span)
    },
    onResponse({ headers, status, requestId }) {
      const span = spans.get(headers)
      if (status !== null) span?.setAttribute('http.response.status_code', status)
      if (requestId !== null) span?.setAttribute('signalbox.request_id', requestId)
      if (status === null || status >= 400) span?.setStatus({ code: SpanStatusCode.ERROR })
      span?.end()
    },
    onRetry({ operation, delayMilliseconds }) {
      const attributes = { operation, delay_ms: Math.round(delayMilliseconds) }
      trace.getActiveSpan()?.addEvent('signalbox.retry', attributes)
    },
  }
}
