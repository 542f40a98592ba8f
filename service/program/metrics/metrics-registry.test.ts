import assert from 'node:assert/strict'
import { it } from 'node:test'
import { METRICS } from './metric-table.ts'
import { createLabelCounter, createMetricsRegistry, renderMetrics } from './metrics-registry.ts'

it('shows every label value from the start, and its sum', async () => {
  const registry = createMetricsRegistry()
  const name = 'signalbox_notifications_failed_total'
  const count = createLabelCounter(registry, name, ['email', 'webhook'])
  const shown = async () => {
    const { text } = await renderMetrics(registry)
    return text.match(new RegExp(`^${name}.*$`, 'gm'))
  }
  const nothing = [`${name}{channel="email"} 0`, `${name}{channel="webhook"} 0`]
  assert.deepEqual(await shown(), nothing)
  count('email')
  count('email', 1_000)
  count('webhook', 0)
  const some = [`${name}{channel="email"} 1001`, nothing[1]]
  assert.deepEqual(await shown(), some)
  assert.deepEqual(await shown(), some)
})

it('keeps two registries separate', async () => {
  const registries = [createMetricsRegistry(), createMetricsRegistry()]
  const counts = registries.map(registry =>
    createLabelCounter(registry, 'signalbox_events_total', ['accepted']),
  )
  counts[0]?.('accepted')
  const pages = await Promise.all(registries.map(renderMetrics))
  assert.match(pages[0]?.text ?? '', /^signalbox_events_total\{result="accepted"\} 1$/m)
  assert.match(pages[1]?.text ?? '', /^signalbox_events_total\{result="accepted"\} 0$/m)
})

/** Kept for one version under the name that operators query. */
const EARLIER_NAMES = ['signalbox_retention_days_behind']
const NO_BASE_UNIT =
  /_(milliseconds|microseconds|minutes|hours|days|weeks|kilobytes|megabytes|percent|ms|s)(_|$)/

it('names metrics as promtool check metrics wants them', async () => {
  const types = new Map<string, string>(
    Object.entries(METRICS).map(([name, { type }]) => [name, type]),
  )
  const { text } = await renderMetrics(createMetricsRegistry())
  for (const [, name = '', type = ''] of text.matchAll(/^# TYPE (\S+) (\S+)$/gm))
    types.set(name, type)
  assert.ok(types.size > 60, String(types.size))
  const misnamed = [...types].filter(
    ([name, type]) =>
      NO_BASE_UNIT.test(name) ||
      name.endsWith('_total') !== (type === 'counter') ||
      /[A-Z]|_(count|sum|bucket|info_\w+|gauge|counter|histogram)$/.test(name),
  )
  assert.deepEqual(
    misnamed.map(([name]) => name),
    EARLIER_NAMES,
  )
})
