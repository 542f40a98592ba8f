import { Gauge } from 'prom-client'
import { oneAtATime } from '../http/one-at-a-time.ts'
import { ALERT_KINDS, type AlertKind } from '../reports/alert.ts'
import { labelCounter } from './label-counter.ts'
import type { MetricsRegistry } from './metrics-registry.ts'

/** Counts alerts as they are raised. Returns what is to be called for each. */
export function alertMetrics(registry: MetricsRegistry): (kind: AlertKind) => void {
  return labelCounter(registry, {
    name: 'signalbox_alerts_raised_total',
    help: 'Alerts about a destination that were raised, by what they are about.',
    label: 'kind',
    values: ALERT_KINDS,
  })
}

/** Shows the open alerts in the store. When it does not answer, there is no figure. */
export function openAlertMetrics(
  registry: MetricsRegistry,
  read: () => Promise<Partial<Record<AlertKind, number>>>,
): void {
  const open = oneAtATime(() => read().catch(() => null))
  new Gauge({
    name: 'signalbox_alerts_open',
    help: 'Alerts about a destination that are not resolved yet, of all processes.',
    labelNames: ['kind'],
    registers: [registry],
    async collect() {
      this.reset()
      const counts = await open()
      if (!counts) return
      for (const kind of ALERT_KINDS) this.set({ kind }, counts[kind] ?? 0)
    },
  })
}
