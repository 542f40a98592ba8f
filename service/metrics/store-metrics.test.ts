import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { BacklogByStatus } from '../delivery/backlog-store.ts'
import { type MetricsRegistry, metricsPage, metricsRegistry } from './metrics-registry.ts'
import { backlogMetrics, connectionMetrics, waitingMetrics } from './store-metrics.ts'

const BACKLOG: BacklogByStatus = {
  active: { dueLanes: 12, oldestDueSeconds: 3.5 },
  inactive: { dueLanes: 1, oldestDueSeconds: 7_200 },
}

async function shown(registry: MetricsRegistry): Promise<string[]> {
  const { text } = await metricsPage(registry)
  return text.split('\n').filter(line => line.startsWith('signalbox_'))
}

it('asks the store once a scrape, for all that it shows of it', async () => {
  const registry = metricsRegistry()
  let asked = 0
  backlogMetrics(registry, async () => {
    asked += 1
    return BACKLOG
  })
  assert.deepEqual(await shown(registry), [
    'signalbox_store_up 1',
    'signalbox_delivery_due_lanes{destination="active"} 12',
    'signalbox_delivery_due_lanes{destination="inactive"} 1',
    'signalbox_delivery_oldest_due_seconds{destination="active"} 3.5',
    'signalbox_delivery_oldest_due_seconds{destination="inactive"} 7200',
  ])
  assert.equal(asked, 1)
  await shown(registry)
  assert.equal(asked, 2)
})

it('shows no old figure while the store is away', async () => {
  const registry = metricsRegistry()
  let isAway = false
  backlogMetrics(registry, async () => {
    if (isAway) throw new Error('ECONNREFUSED')
    return BACKLOG
  })
  assert.equal((await shown(registry)).length, 5)
  isAway = true
  assert.deepEqual(await shown(registry), ['signalbox_store_up 0'])
  isAway = false
  assert.equal((await shown(registry)).length, 5)
})

it('shows how busy the connections are', async () => {
  const registry = metricsRegistry()
  connectionMetrics(registry, { totalCount: 10, idleCount: 3, waitingCount: 2 })
  assert.deepEqual(await shown(registry), [
    'signalbox_store_connections{state="busy"} 7',
    'signalbox_store_connections{state="idle"} 3',
    'signalbox_store_connections_waiting 2',
  ])
})

it('shows what waits, and nothing old while it cannot be counted', async () => {
  const registry = metricsRegistry()
  let isAway = false
  waitingMetrics(registry, async () => {
    if (isAway) throw new Error('Query read timeout')
    return {
      active: { deliveries: 42, oldestSeconds: 12.5 },
      inactive: { deliveries: 0, oldestSeconds: 0 },
    }
  })
  assert.deepEqual(await shown(registry), [
    'signalbox_deliveries_waiting{destination="active"} 42',
    'signalbox_deliveries_waiting{destination="inactive"} 0',
    'signalbox_delivery_oldest_waiting_seconds{destination="active"} 12.5',
    'signalbox_delivery_oldest_waiting_seconds{destination="inactive"} 0',
  ])
  isAway = true
  assert.deepEqual(await shown(registry), [])
})
