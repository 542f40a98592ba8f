import { Counter } from 'prom-client'
import { LIMIT_NAMES, type LimitName } from '../access/request-limits.ts'
import { labelCounter } from './label-counter.ts'
import type { MetricsRegistry } from './metrics-registry.ts'

/** What is to be called for each request that was not let in. */
export interface LimitMeter {
  onLimited: (name: LimitName) => void
  onShed: () => void
}

/** Counts requests that were turned away before anything was done for them. */
export function limitMetrics(registry: MetricsRegistry): LimitMeter {
  const countLimited = labelCounter(registry, {
    name: 'signalbox_rate_limited_total',
    help: 'Requests answered 429, by the limit that they met.',
    label: 'limit',
    values: LIMIT_NAMES,
  })
  const shed = new Counter({
    name: 'signalbox_http_shed_total',
    help: 'Requests answered 503 because the process had too much to do.',
    registers: [registry],
  })
  return { onLimited: name => countLimited(name), onShed: () => shed.inc() }
}
