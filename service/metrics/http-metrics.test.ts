import assert from 'node:assert/strict'
import { it } from 'node:test'
import { httpMetrics } from './http-metrics.ts'
import { metricsPage, metricsRegistry } from './metrics-registry.ts'

function figuresUnderTest() {
  const registry = metricsRegistry()
  const onAnswered = httpMetrics(registry)
  const shown = async () => {
    const { text } = await metricsPage(registry)
    return text.match(/^signalbox_http_request_duration_seconds_(count|sum).*$/gm)?.sort() ?? []
  }
  return { onAnswered, shown }
}

it('has one series for each operation, method and status', async () => {
  const { onAnswered, shown } = figuresUnderTest()
  assert.deepEqual(await shown(), [])
  const answered = { operation: 'createEvent', method: 'POST', seconds: 0.25 }
  onAnswered({ ...answered, status: 202 })
  onAnswered({ ...answered, status: 202 })
  onAnswered({ ...answered, status: 503 })
  const of = (status: number) => `{operation="createEvent",method="POST",status="${status}"}`
  assert.deepEqual(await shown(), [
    `signalbox_http_request_duration_seconds_count${of(202)} 2`,
    `signalbox_http_request_duration_seconds_count${of(503)} 1`,
    `signalbox_http_request_duration_seconds_sum${of(202)} 0.5`,
    `signalbox_http_request_duration_seconds_sum${of(503)} 0.25`,
  ])
})

it('has one series for all that is asked of paths without a route', async () => {
  const { onAnswered, shown } = figuresUnderTest()
  for (const method of ['GET', 'PROPFIND', 'UNLOCK', 'M-SEARCH']) {
    onAnswered({ operation: null, method, status: 404, seconds: 1 })
  }
  assert.deepEqual(await shown(), [
    'signalbox_http_request_duration_seconds_count{operation="none",method="any",status="404"} 4',
    'signalbox_http_request_duration_seconds_sum{operation="none",method="any",status="404"} 4',
  ])
})
