import { Gauge } from 'prom-client'
import { oneAtATime } from '../http/one-at-a-time.ts'
import type { MetricsRegistry } from './metrics-registry.ts'

/** Shows how many actions wait for a person. When the store does not answer, there is no figure. */
export function pendingActionMetrics(registry: MetricsRegistry, read: () => Promise<number>): void {
  const pending = oneAtATime(() => read().catch(() => null))
  new Gauge({
    name: 'signalbox_actions_pending',
    help: 'Actions of agents that wait for the decision of a person, of all workspaces.',
    registers: [registry],
    async collect() {
      this.remove()
      const count = await pending()
      if (count !== null) this.set(count)
    },
  })
}

/** Shows what the last verification by this process found. Returns what is to be told of each. */
export function auditLogMetrics(registry: MetricsRegistry): (brokenCount: number) => void {
  const broken = new Gauge({
    name: 'signalbox_audit_logs_broken',
    help: 'Audit logs that the last verification by this process found changed; 0 before it.',
    registers: [registry],
  })
  return brokenCount => broken.set(brokenCount)
}
