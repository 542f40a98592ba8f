import assert from 'node:assert/strict'
import { it } from 'node:test'
import { startTestService } from '../../../testing/fixtures/service.ts'
import { findPlatformTarget, revokeToken } from '../../../testing/fixtures/simulator.ts'
import { HOUR_MILLISECONDS } from '../../runtime/util/time.ts'
import { withPlatformMetrics } from './delivery-metrics.ts'
import { createMetricsRegistry, renderMetrics } from './metrics-registry.ts'

it('counts reports by outcome and returns them unchanged', async test => {
  const service = await startTestService(test)
  const registry = createMetricsRegistry()
  const { platforms } = service.delivery
  const bare = platforms.default
  const platform = withPlatformMetrics(registry, platforms).default
  const { accessToken, ...target } = await findPlatformTarget(service, service.tracker)
  const credentials = { target, accessToken }
  const until = service.clock.now()
  const hour = { from: new Date(until.getTime() - HOUR_MILLISECONDS), until }
  const week = { from: new Date(until.getTime() - 200 * HOUR_MILLISECONDS), until }

  const counts = await platform.readDayCounts(credentials, hour, 'server')
  assert.deepEqual(counts, await bare.readDayCounts(credentials, hour, 'server'))
  assert.equal(counts.kind, 'counts')
  await platform.readDayCounts(credentials, week, 'browser')
  assert.equal((await platform.readMatchQuality(credentials)).kind, 'unavailable')
  await revokeToken(service.simulatorUrl, accessToken)
  await platform.readMatchQuality(credentials)

  const { text } = await renderMetrics(registry)
  const reads = text.split('\n').filter(line => line.startsWith('signalbox_platform_reads_total'))
  assert.deepEqual(reads, [
    'signalbox_platform_reads_total{outcome="read"} 1',
    'signalbox_platform_reads_total{outcome="permission"} 1',
    'signalbox_platform_reads_total{outcome="credential"} 1',
    'signalbox_platform_reads_total{outcome="throttled"} 0',
    'signalbox_platform_reads_total{outcome="out_of_reach"} 0',
    'signalbox_platform_reads_total{outcome="out_of_range"} 1',
    'signalbox_platform_reads_total{outcome="unreadable"} 0',
    'signalbox_platform_reads_total{outcome="unsupported"} 0',
  ])
})
