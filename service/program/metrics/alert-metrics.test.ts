import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { AlertKind } from '@signalbox/contract/alerts.ts'
import {
  registerAlertMetrics,
  registerNotificationMetrics,
  registerOpenAlertMetrics,
} from './delivery-metrics.ts'
import { createMetricsRegistry, type MetricsRegistry, renderMetrics } from './metrics-registry.ts'

async function shown(registry: MetricsRegistry): Promise<string[]> {
  const { text } = await renderMetrics(registry)
  return text.split('\n').filter(line => line.startsWith('signalbox_'))
}

it('counts raised alerts, each kind from zero', async () => {
  const registry = createMetricsRegistry()
  const countRaised = registerAlertMetrics(registry)
  countRaised('emq_low')
  countRaised('emq_low')
  assert.deepEqual(await shown(registry), [
    'signalbox_alerts_raised_total{kind="emq_fell"} 0',
    'signalbox_alerts_raised_total{kind="emq_low"} 2',
    'signalbox_alerts_raised_total{kind="reconciliation_unexplained"} 0',
    'signalbox_alerts_raised_total{kind="audit_log_broken"} 0',
    'signalbox_alerts_raised_total{kind="page_withdrawals_many"} 0',
  ])
})

it('counts messages that were given up, each channel from zero', async () => {
  const registry = createMetricsRegistry()
  registerNotificationMetrics(registry)('email')
  assert.deepEqual(await shown(registry), [
    'signalbox_notifications_failed_total{channel="email"} 1',
    'signalbox_notifications_failed_total{channel="webhook"} 0',
  ])
})

it('shows open alerts, and none while the database is unavailable', async () => {
  const registry = createMetricsRegistry()
  let read = async (): Promise<Partial<Record<AlertKind, number>>> => ({ emq_low: 3 })
  registerOpenAlertMetrics(registry, () => read())
  assert.deepEqual(await shown(registry), [
    'signalbox_alerts_open{kind="emq_fell"} 0',
    'signalbox_alerts_open{kind="emq_low"} 3',
    'signalbox_alerts_open{kind="reconciliation_unexplained"} 0',
    'signalbox_alerts_open{kind="audit_log_broken"} 0',
    'signalbox_alerts_open{kind="page_withdrawals_many"} 0',
  ])
  read = async () => {
    throw new Error('ECONNREFUSED')
  }
  assert.deepEqual(await shown(registry), [])
})
