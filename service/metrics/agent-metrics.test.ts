import assert from 'node:assert/strict'
import { it } from 'node:test'
import { auditLogMetrics, pendingActionMetrics } from './agent-metrics.ts'
import { type MetricsRegistry, metricsPage, metricsRegistry } from './metrics-registry.ts'

async function shown(registry: MetricsRegistry): Promise<string[]> {
  const { text } = await metricsPage(registry)
  return text.split('\n').filter(line => line.startsWith('signalbox_'))
}

it('shows how many actions wait, and nothing while the store is away', async () => {
  const registry = metricsRegistry()
  let read = async () => 0
  pendingActionMetrics(registry, () => read())
  assert.deepEqual(await shown(registry), ['signalbox_actions_pending 0'])
  read = async () => 7
  assert.deepEqual(await shown(registry), ['signalbox_actions_pending 7'])
  read = async () => {
    throw new Error('ECONNREFUSED')
  }
  assert.deepEqual(await shown(registry), [])
})

it('shows how many logs the last verification found changed', async () => {
  const registry = metricsRegistry()
  const found = auditLogMetrics(registry)
  assert.deepEqual(await shown(registry), ['signalbox_audit_logs_broken 0'])
  found(2)
  assert.deepEqual(await shown(registry), ['signalbox_audit_logs_broken 2'])
  found(0)
  assert.deepEqual(await shown(registry), ['signalbox_audit_logs_broken 0'])
})
