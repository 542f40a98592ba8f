import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { JobStatistics } from '../../runtime/jobs/job-store.ts'
import type { BacklogByStatus } from '../../signals/delivery/backlog-store.ts'
import {
  registerAuditLogMetrics,
  registerBacklogMetrics,
  registerConnectionMetrics,
  registerJobMetrics,
  registerPendingActionMetrics,
  registerServerMetrics,
  registerWaitingDeliveryMetrics,
} from './database-metrics.ts'
import { createMetricsRegistry, type MetricsRegistry, renderMetrics } from './metrics-registry.ts'

const BACKLOG: BacklogByStatus = {
  active: { dueQueues: 12, oldestDueSeconds: 3.5 },
  inactive: { dueQueues: 1, oldestDueSeconds: 7_200 },
}

async function shown(registry: MetricsRegistry): Promise<string[]> {
  const { text } = await renderMetrics(registry)
  return text.split('\n').filter(line => line.startsWith('signalbox_'))
}

it('queries the database once per scrape', async () => {
  const registry = createMetricsRegistry()
  let asked = 0
  registerBacklogMetrics(registry, async () => {
    asked += 1
    return BACKLOG
  })
  assert.deepEqual(await shown(registry), [
    'signalbox_store_up 1',
    'signalbox_delivery_due_queues{destination="active"} 12',
    'signalbox_delivery_due_queues{destination="inactive"} 1',
    'signalbox_delivery_oldest_due_seconds{destination="active"} 3.5',
    'signalbox_delivery_oldest_due_seconds{destination="inactive"} 7200',
  ])
  assert.equal(asked, 1)
  await shown(registry)
  assert.equal(asked, 2)
})

it('shows no stale value while the database is unavailable', async () => {
  const registry = createMetricsRegistry()
  let isAway = false
  registerBacklogMetrics(registry, async () => {
    if (isAway) throw new Error('ECONNREFUSED')
    return BACKLOG
  })
  assert.equal((await shown(registry)).length, 5)
  isAway = true
  assert.deepEqual(await shown(registry), ['signalbox_store_up 0'])
  isAway = false
  assert.equal((await shown(registry)).length, 5)
})

it('shows which server of the store does not answer', async () => {
  const registry = createMetricsRegistry()
  const answers = new Map([
    ['main', true],
    ['10.0.0.7:5432', false],
  ])
  registerServerMetrics(registry, async () => answers)
  const lines = [
    'signalbox_store_node_up{node="main"} 1',
    'signalbox_store_node_up{node="10.0.0.7:5432"} 0',
  ]
  assert.deepEqual(await shown(registry), lines)
  answers.delete('10.0.0.7:5432')
  assert.deepEqual(await shown(registry), lines.slice(0, 1))
})

it('shows busy and idle connections', async () => {
  const registry = createMetricsRegistry()
  registerConnectionMetrics(registry, { totalCount: 10, idleCount: 3, waitingCount: 2 })
  assert.deepEqual(await shown(registry), [
    'signalbox_store_connections{state="busy"} 7',
    'signalbox_store_connections{state="idle"} 3',
    'signalbox_store_connections_waiting 2',
  ])
})

it('shows waiting deliveries, and no stale value while they cannot be counted', async () => {
  const registry = createMetricsRegistry()
  let isAway = false
  registerWaitingDeliveryMetrics(registry, async () => {
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

const JOB_STATISTICS: JobStatistics = {
  counts: { queued: 2, running: 1, failed: 0 },
  successAgeSeconds: new Map([['verify-audit', 7_200.5]]),
}

function meteredJobs(read: () => Promise<JobStatistics>) {
  const registry = createMetricsRegistry()
  const periodSeconds = new Map([['verify-audit', 86_400]] as const)
  const meter = registerJobMetrics(registry, {
    names: ['verify-audit', 'refresh-report'],
    periodSeconds,
    read,
  })
  return { registry, meter }
}

async function shownJobs(registry: MetricsRegistry, name: string): Promise<string[]> {
  const { text } = await renderMetrics(registry)
  return text.split('\n').filter(line => line.startsWith(`signalbox_job${name}`))
}

it('counts job runs by outcome, from zero', async () => {
  const { registry, meter } = meteredJobs(async () => JOB_STATISTICS)
  meter.onDone({ name: 'verify-audit', outcome: 'failed', seconds: 0.5, error: new Error('no') })
  meter.onDone({ name: 'verify-audit', outcome: 'succeeded', seconds: 2, error: null })
  meter.onError()
  assert.deepEqual(await shownJobs(registry, '_runs'), [
    'signalbox_job_runs_total{task="verify-audit",outcome="succeeded"} 1',
    'signalbox_job_runs_total{task="verify-audit",outcome="failed"} 1',
    'signalbox_job_runs_total{task="verify-audit",outcome="interrupted"} 0',
    'signalbox_job_runs_total{task="refresh-report",outcome="succeeded"} 0',
    'signalbox_job_runs_total{task="refresh-report",outcome="failed"} 0',
    'signalbox_job_runs_total{task="refresh-report",outcome="interrupted"} 0',
  ])
  const durations = await shownJobs(registry, '_duration_seconds_count')
  assert.deepEqual(durations, [
    'signalbox_job_duration_seconds_count{task="verify-audit"} 2',
    'signalbox_job_duration_seconds_count{task="refresh-report"} 0',
  ])
  assert.deepEqual(await shownJobs(registry, '_errors'), ['signalbox_job_errors_total 1'])
})

it('shows the jobs of all processes with one query per scrape and no stale value', async () => {
  let asked = 0
  let isAway = false
  const { registry } = meteredJobs(async () => {
    asked += 1
    if (isAway) throw new Error('ECONNREFUSED')
    return JOB_STATISTICS
  })
  assert.deepEqual(await shownJobs(registry, 's{'), [
    'signalbox_jobs{state="queued"} 2',
    'signalbox_jobs{state="running"} 1',
    'signalbox_jobs{state="failed"} 0',
  ])
  assert.equal(asked, 1)
  assert.deepEqual(await shownJobs(registry, '_success'), [
    'signalbox_job_success_age_seconds{task="verify-audit"} 7200.5',
  ])
  isAway = true
  assert.deepEqual(await shownJobs(registry, 's{'), [])
  assert.deepEqual(await shownJobs(registry, '_success'), [])
  assert.deepEqual(await shownJobs(registry, '_period'), [
    'signalbox_job_period_seconds{task="verify-audit"} 86400',
  ])
})

it('shows pending actions, and none while the database is unavailable', async () => {
  const registry = createMetricsRegistry()
  let read = async () => 0
  registerPendingActionMetrics(registry, () => read())
  assert.deepEqual(await shown(registry), ['signalbox_actions_pending 0'])
  read = async () => 7
  assert.deepEqual(await shown(registry), ['signalbox_actions_pending 7'])
  read = async () => {
    throw new Error('ECONNREFUSED')
  }
  assert.deepEqual(await shown(registry), [])
})

it('shows how many audit logs failed the last verification', async () => {
  const registry = createMetricsRegistry()
  const found = registerAuditLogMetrics(registry)
  assert.deepEqual(await shown(registry), ['signalbox_audit_logs_broken 0'])
  found(2)
  assert.deepEqual(await shown(registry), ['signalbox_audit_logs_broken 2'])
  found(0)
  assert.deepEqual(await shown(registry), ['signalbox_audit_logs_broken 0'])
})
