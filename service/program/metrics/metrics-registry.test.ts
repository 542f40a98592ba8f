import assert from 'node:assert/strict'
import { it } from 'node:test'
import { createLabelCounter, createMetricsRegistry, renderMetrics } from './metrics-registry.ts'

it('shows every label value from the start, and its sum', async () => {
  const registry = createMetricsRegistry()
  const count = createLabelCounter(registry, {
    name: 'test_things_total',
    help: 'Things.',
    label: 'color',
    values: ['red', 'green'],
  })
  const shown = async () => {
    const { text } = await renderMetrics(registry)
    return text.match(/^test_things_total.*$/gm)
  }
  const nothing = ['test_things_total{color="red"} 0', 'test_things_total{color="green"} 0']
  assert.deepEqual(await shown(), nothing)
  count('red')
  count('red', 1_000)
  count('green', 0)
  const some = ['test_things_total{color="red"} 1001', nothing[1]]
  assert.deepEqual(await shown(), some)
  assert.deepEqual(await shown(), some)
})

it('keeps two registries separate', async () => {
  const registries = [createMetricsRegistry(), createMetricsRegistry()]
  const counts = registries.map(registry =>
    createLabelCounter(registry, { name: 'test_total', help: 'x', label: 'a', values: ['b'] }),
  )
  counts[0]?.('b')
  const pages = await Promise.all(registries.map(renderMetrics))
  assert.match(pages[0]?.text ?? '', /^test_total\{a="b"\} 1$/m)
  assert.match(pages[1]?.text ?? '', /^test_total\{a="b"\} 0$/m)
})
