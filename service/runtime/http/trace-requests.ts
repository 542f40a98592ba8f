import { findSpan, keepSpan, parseTraceparent, runInSpan, type Tracer } from '../tracing/tracer.ts'
import type { RouteConfig, ServiceApp } from './service-app.ts'

/** A supervisor asks them every few seconds. */
const UNTRACED = new Set<string | undefined>(['/livez', '/readyz'])

/**
 * Makes a span of each request to a route, under the `traceparent` of its caller. Its attributes
 * name the route by its pattern, because paths contain IDs, and the request by its own ID, which
 * the caller and the log have as well.
 */
export function traceRequests(app: ServiceApp, tracer: Tracer): void {
  const begin = (request: TracedRequest) => {
    const { routeOptions, method, headers, id } = request
    const { url: route } = routeOptions
    if (route === undefined || UNTRACED.has(route)) return
    const { operationId } = routeOptions.config as RouteConfig
    const span = tracer.startSpan(`${method} ${route}`, {
      kind: 'server',
      parent: parseTraceparent(headers.traceparent),
      attributes: {
        'http.request.method': method,
        'http.route': route,
        'signalbox.request_id': id,
        ...(operationId !== undefined && { 'signalbox.operation': operationId }),
      },
    })
    keepSpan(request, span)
  }
  const run = (request: object, handle: () => void) => {
    const span = findSpan(request)
    if (span) runInSpan({ span, trackerId: null }, handle)
    else handle()
  }
  const end = (request: object, { statusCode }: { statusCode: number }) => {
    const error = statusCode >= 500 ? String(statusCode) : null
    findSpan(request)?.end({ 'http.response.status_code': statusCode }, error)
  }
  app.shortRoad.observe({ begin, run, end })
  app.addHook('onRequest', (request, _reply, done) => {
    begin(request)
    done()
  })
  // Not earlier: reading the body runs in the context of the connection.
  app.addHook('preHandler', (request, _reply, done) => run(request, done))
  app.addHook('onResponse', (request, reply, done) => {
    end(request, reply)
    done()
  })
}

interface TracedRequest {
  id: string
  method: string
  headers: Record<string, unknown>
  routeOptions: { url?: string | undefined; config: object }
}
