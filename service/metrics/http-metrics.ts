import { Histogram } from 'prom-client'
import type { AnsweredRequest } from '../http/service-app.ts'
import type { MetricsRegistry } from './metrics-registry.ts'

/** Finest where a commit takes its time: 1 to 50 milliseconds. */
const SECONDS_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

/** Whoever asks for paths that are not there, by whatever method, makes no series of their own. */
const NO_ROUTE = { operation: 'none', method: 'any' }

/** Counts answers and how long they took. Returns what is to be called for each of them. */
export function httpMetrics(registry: MetricsRegistry): (answered: AnsweredRequest) => void {
  const durations = new Histogram({
    name: 'signalbox_http_request_duration_seconds',
    help: 'Time from a request to the end of its answer.',
    labelNames: ['operation', 'method', 'status'],
    buckets: SECONDS_BUCKETS,
    registers: [registry],
  })
  const series = new Map<string, ReturnType<typeof durations.labels>>()
  return ({ operation, method, status, seconds }) => {
    const route = operation === null ? NO_ROUTE : { operation, method }
    const key = `${route.operation} ${route.method} ${status}`
    const known = series.get(key) ?? durations.labels({ ...route, status })
    series.set(key, known)
    known.observe(seconds)
  }
}
