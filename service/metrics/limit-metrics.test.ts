import assert from 'node:assert/strict'
import { it } from 'node:test'
import { LIMIT_NAMES, type LimitName } from '../access/request-limits.ts'
import { limitMetrics } from './limit-metrics.ts'
import { metricsPage, metricsRegistry } from './metrics-registry.ts'

it('shows every limit from the start, and counts whom it turned away', async () => {
  const registry = metricsRegistry()
  const { onLimited, onShed } = limitMetrics(registry)
  const shown = async () => {
    const { text } = await metricsPage(registry)
    return text.match(/^signalbox_(rate_limited|http_shed)_total.*$/gm)?.sort()
  }
  const ofLimits = (tracker: number, sandbox: number) => {
    const counts: Partial<Record<LimitName, number>> = { tracker, sandbox }
    const line = (name: LimitName) =>
      `signalbox_rate_limited_total{limit="${name}"} ${counts[name] ?? 0}`
    return LIMIT_NAMES.map(line).sort()
  }
  assert.deepEqual(await shown(), ['signalbox_http_shed_total 0', ...ofLimits(0, 0)])
  onLimited('tracker')
  onLimited('tracker')
  onLimited('sandbox')
  onShed()
  assert.deepEqual(await shown(), ['signalbox_http_shed_total 1', ...ofLimits(2, 1)])
})
