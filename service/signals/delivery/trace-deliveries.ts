import { findActiveWork, runInSpan, type Tracer } from '../../runtime/tracing/tracer.ts'
import type { OutboundEvent, Platform, SendAnswer } from '../platforms/platform.ts'
import type { PlatformRegistry } from '../platforms/registry.ts'
import type { DeliveryContext } from './delivery-context.ts'

/** Makes a span of each batch: claim, review, requests and settlement. */
export function createBatchTracer(tracer: Tracer): NonNullable<DeliveryContext['traceBatch']> {
  return async ({ trackerId, destinationId, platform }, deliver) => {
    const span = tracer.startSpan('deliver batch', {
      kind: 'internal',
      attributes: {
        'signalbox.tracker_id': trackerId,
        'signalbox.destination_id': destinationId,
        'signalbox.platform': platform,
      },
    })
    try {
      const run = await runInSpan({ span, trackerId }, deliver)
      span.end({
        'messaging.batch.message_count': run.claimedCount,
        'signalbox.destination_health': run.health.kind,
      })
      return run
    } catch (error) {
      span.end({}, String((error as { code?: unknown }).code ?? 'unknown'))
      throw error
    }
  }
}

/** The same platforms, with a span of each request, and one in the trace of each of its events. */
export function withPlatformTraces(tracer: Tracer, platforms: PlatformRegistry): PlatformRegistry {
  return platforms.map(platform => ({ ...platform, send: traceSend(tracer, platform) }))
}

/** The request carries no `traceparent`: a platform should not learn about our traces. */
function traceSend(tracer: Tracer, platform: Platform): Platform['send'] {
  return async (connection, events) => {
    const work = findActiveWork()
    const trackerId = work?.trackerId ?? null
    const startedAt = performance.now()
    const refs =
      trackerId === null ? [] : events.map(it => tracer.eventRef(toTraced(it, trackerId)))
    const span = tracer.startSpan(`send to ${platform.name}`, {
      kind: 'client',
      parent: work?.span.ref ?? null,
      links: refs,
      attributes: {
        'signalbox.platform': platform.name,
        'messaging.batch.message_count': events.length,
      },
    })
    const answer = await platform.send(connection, events)
    const outcome = describeAnswer(answer)
    const error = answer.outcome === 'accepted' ? null : answer.outcome
    span.end(outcome, error)
    for (const parent of refs) {
      const links = [span.ref]
      tracer
        .startSpan('deliver', { kind: 'consumer', parent, links, startedAt })
        .end(outcome, error)
    }
    return answer
  }
}

function toTraced({ eventId }: OutboundEvent, trackerId: string) {
  return { trackerId, eventId }
}

/** The platform's own trace ID is what its support asks for. */
function describeAnswer({ outcome, httpStatus, traceId }: SendAnswer) {
  return {
    'signalbox.outcome': outcome,
    ...(httpStatus !== null && { 'http.response.status_code': httpStatus }),
    ...(traceId !== null && { 'signalbox.platform_trace_id': traceId }),
  }
}
