import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { it, type TestContext } from 'node:test'
import { findFreePort } from '@signalbox/embedded-postgres/free-port.ts'
import {
  createInstallation,
  DEFAULT_HTTP_WORKERS,
  type ReadyProgram,
} from '../../../testing/fixtures/program.ts'
import { samplePurchase } from '../../../testing/fixtures/sample-events.ts'
import { waitUntil } from '../../../testing/fixtures/wait-until.ts'

/** Where the start-up summary says that the figures are. */
function metricsUrl(program: ReadyProgram): string {
  return /^ {2}metrics {6}(\S+)$/m.exec(program.stderr())?.[1] ?? ''
}

/** What `/metrics` shows now: each series with its value. */
async function scrape(url: string): Promise<Map<string, number>> {
  const text = await (await fetch(url)).text()
  const lines = text.split('\n').filter(line => line !== '' && !line.startsWith('#'))
  return new Map(
    lines.map(line => {
      const space = line.lastIndexOf(' ')
      return [line.slice(0, space), Number(line.slice(space + 1))]
    }),
  )
}

/** A free port for the service; that of its metrics, two above, is taken. */
async function portBelowATakenOne(test: TestContext): Promise<number> {
  for (;;) {
    const port = await findFreePort()
    const other = createServer().listen({ host: '127.0.0.1', port: port + 2 })
    test.after(() => other.close())
    const isTaken = await once(other, 'listening').then(
      () => true,
      () => false,
    )
    if (isTaken) return port
  }
}

it('the metrics of npm start follow an event from its request to the platform', async test => {
  const place = createInstallation(test)
  const program = await place.startReady({ environment: DEFAULT_HTTP_WORKERS })
  const { base_url, tracker_secret } = place.credentials()
  const submit = () =>
    fetch(`${base_url}/events`, {
      method: 'POST',
      headers: { authorization: `Bearer ${tracker_secret}`, 'content-type': 'application/json' },
      body: JSON.stringify(samplePurchase({ consent: { ad_user_data: 'granted' } })),
    })
  assert.equal((await submit()).status, 202)
  assert.equal((await submit()).status, 200)
  const url = metricsUrl(program)
  await waitUntil('the delivery is settled', async () => {
    const settled = (await scrape(url)).get('signalbox_deliveries_settled_total{status="accepted"}')
    return settled === 1
  })

  const figures = await scrape(url)
  const answered = (status: number) =>
    `signalbox_http_request_duration_seconds_count{operation="createEvent",method="POST",status="${status}"}`
  assert.deepEqual(
    [
      answered(202),
      answered(200),
      'signalbox_events_total{result="accepted"}',
      'signalbox_events_total{result="duplicate"}',
      'signalbox_commit_events_sum',
      'signalbox_commit_duration_seconds_count',
      'signalbox_platform_requests_total{outcome="accepted"}',
      'signalbox_platform_request_events_total{outcome="accepted"}',
      'signalbox_platform_request_duration_seconds_count',
      'signalbox_store_up',
      'signalbox_commit_queue_refusals_total',
      'signalbox_delivery_errors_total',
    ].map(series => figures.get(series)),
    [1, 1, 1, 1, 2, 2, 1, 1, 1, 1, 0, 0],
  )
  await test.test('404 for figures at the address of the service', async () => {
    assert.equal((await fetch(`${program.url}/metrics`)).status, 404)
  })
})

it('starts although the default port of the metrics is taken', async test => {
  const place = createInstallation(test)
  const port = await portBelowATakenOne(test)
  const program = await place.startReady({ environment: { PORT: String(port) } })
  assert.notEqual(new URL(metricsUrl(program)).port, String(port + 2))
  assert.equal((await scrape(metricsUrl(program))).get('signalbox_store_up'), 1)
  assert.match(program.stdout(), /the port for the metrics is taken; they use another one/)
})
