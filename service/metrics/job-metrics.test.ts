import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { JobsNow } from '../jobs/store.ts'
import { jobMetrics } from './job-metrics.ts'
import { type MetricsRegistry, metricsPage, metricsRegistry } from './metrics-registry.ts'

const NOW: JobsNow = {
  counts: { queued: 2, running: 1, failed: 0 },
  successAgeSeconds: new Map([['daily', 7_200.5]]),
}

function metered(read: () => Promise<JobsNow>) {
  const registry = metricsRegistry()
  const periodSeconds = new Map([['daily', 86_400]])
  const meter = jobMetrics(registry, { names: ['daily', 'asked'], periodSeconds, read })
  return { registry, meter }
}

async function shown(registry: MetricsRegistry, name: string): Promise<string[]> {
  const { text } = await metricsPage(registry)
  return text.split('\n').filter(line => line.startsWith(`signalbox_job${name}`))
}

it('counts each attempt by its job and how it ended, from zero on', async () => {
  const { registry, meter } = metered(async () => NOW)
  meter.onDone({ name: 'daily', outcome: 'failed', seconds: 0.5, error: new Error('no') })
  meter.onDone({ name: 'daily', outcome: 'succeeded', seconds: 2, error: null })
  meter.onError()
  assert.deepEqual(await shown(registry, '_runs'), [
    'signalbox_job_runs_total{task="daily",outcome="succeeded"} 1',
    'signalbox_job_runs_total{task="daily",outcome="failed"} 1',
    'signalbox_job_runs_total{task="daily",outcome="interrupted"} 0',
    'signalbox_job_runs_total{task="asked",outcome="succeeded"} 0',
    'signalbox_job_runs_total{task="asked",outcome="failed"} 0',
    'signalbox_job_runs_total{task="asked",outcome="interrupted"} 0',
  ])
  const durations = await shown(registry, '_duration_seconds_count')
  assert.deepEqual(durations, [
    'signalbox_job_duration_seconds_count{task="daily"} 2',
    'signalbox_job_duration_seconds_count{task="asked"} 0',
  ])
  assert.deepEqual(await shown(registry, '_errors'), ['signalbox_job_errors_total 1'])
})

it('shows how the jobs of all processes are, asked for once a scrape, and nothing old', async () => {
  let asked = 0
  let isAway = false
  const { registry } = metered(async () => {
    asked += 1
    if (isAway) throw new Error('ECONNREFUSED')
    return NOW
  })
  assert.deepEqual(await shown(registry, 's{'), [
    'signalbox_jobs{state="queued"} 2',
    'signalbox_jobs{state="running"} 1',
    'signalbox_jobs{state="failed"} 0',
  ])
  assert.equal(asked, 1)
  assert.deepEqual(await shown(registry, '_success'), [
    'signalbox_job_success_age_seconds{task="daily"} 7200.5',
  ])
  isAway = true
  assert.deepEqual(await shown(registry, 's{'), [])
  assert.deepEqual(await shown(registry, '_success'), [])
  assert.deepEqual(await shown(registry, '_period'), [
    'signalbox_job_period_seconds{task="daily"} 86400',
  ])
})
