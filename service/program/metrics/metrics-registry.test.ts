import assert from 'node:assert/strict'
import { it } from 'node:test'
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
