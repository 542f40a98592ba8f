import assert from 'node:assert/strict'
import { it, type TestContext } from 'node:test'
import {
  type MetricsPage,
  type MetricsServerOptions,
  startMetricsServer,
} from './metrics-server.ts'

const PAGE: MetricsPage = { contentType: 'text/plain; version=0.0.4', text: 'up 1\n' }

async function serverUnderTest(test: TestContext, page: MetricsServerOptions['page']) {
  const server = await startMetricsServer({ host: '127.0.0.1', port: 0, page })
  test.after(() => server.close())
  return `http://127.0.0.1:${server.port}`
}

it('returns 200 with the content type of the page', async test => {
  const url = await serverUnderTest(test, async () => PAGE)
  for (const path of ['/metrics', '/metrics?name=x']) {
    const response = await fetch(`${url}${path}`)
    assert.equal(response.status, 200)
    assert.equal(response.headers.get('content-type'), PAGE.contentType)
    assert.equal(response.headers.get('cache-control'), 'no-store')
    assert.equal(await response.text(), PAGE.text)
  }
})

it('answers in OpenMetrics when the scraper prefers it', async test => {
  const url = await serverUnderTest(test, async format => ({ contentType: format, text: '' }))
  const openmetrics = 'application/openmetrics-text'
  for (const [accept, format] of [
    ['', 'prometheus'],
    ['*/*', 'prometheus'],
    ['text/plain', 'prometheus'],
    [openmetrics, 'openmetrics'],
    [`${openmetrics};version=1.0.0;q=0.6,text/plain;version=0.0.4;q=0.5,*/*;q=0.1`, 'openmetrics'],
    [`text/plain;q=0.9, ${openmetrics};q=0.2`, 'prometheus'],
    [`${openmetrics};q=0`, 'prometheus'],
    [`${openmetrics};version=2.0.0`, 'prometheus'],
  ] as const) {
    const { headers } = await fetch(`${url}/metrics`, { headers: { accept } })
    assert.equal(headers.get('content-type'), format, accept)
    assert.equal(headers.get('vary'), 'accept')
  }
})

it('returns 404 for anything else', async test => {
  const url = await serverUnderTest(test, async () => PAGE)
  for (const path of ['/', '/metrics/', '/readyz', '/api/v1/events']) {
    const response = await fetch(`${url}${path}`)
    assert.equal(response.status, 404, path)
    assert.equal(await response.text(), 'Metrics are at GET /metrics.\n')
  }
  const posted = await fetch(`${url}/metrics`, { method: 'POST', body: 'x' })
  assert.equal(posted.status, 404)
})

it('returns 500 without details, and the next scrape succeeds', async test => {
  let isBroken = true
  const url = await serverUnderTest(test, async () => {
    if (isBroken) throw new Error('password=hunter2')
    return PAGE
  })
  const failed = await fetch(`${url}/metrics`)
  assert.equal(failed.status, 500)
  assert.equal(await failed.text(), 'The metrics could not be read.\n')
  isBroken = false
  assert.equal((await fetch(`${url}/metrics`)).status, 200)
})

it('returns 200 at /livez while the metrics cannot be read', async test => {
  const url = await serverUnderTest(test, async () => {
    throw new Error('the store is unavailable')
  })
  assert.equal((await fetch(`${url}/metrics`)).status, 500)
  const live = await fetch(`${url}/livez`)
  assert.equal(live.status, 200)
  assert.equal(await live.text(), 'ok\n')
  assert.equal((await fetch(`${url}/livez`, { method: 'POST' })).status, 404)
})

it('closes immediately', async test => {
  const url = await serverUnderTest(test, async () => PAGE)
  const server = await startMetricsServer({ host: '127.0.0.1', port: 0, page: async () => PAGE })
  assert.equal((await fetch(`http://127.0.0.1:${server.port}/metrics`)).status, 200)
  await server.close()
  await assert.rejects(fetch(`http://127.0.0.1:${server.port}/metrics`))
  assert.equal((await fetch(`${url}/metrics`)).status, 200)
})
