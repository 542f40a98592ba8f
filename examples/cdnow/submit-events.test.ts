import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { it, type TestContext } from 'node:test'
import { retryAfterSeconds, submitEvent } from './submit-events.ts'

const EVENT = { event_id: 'a', value: '1.00' }
const NEW = { status: 202, body: { event_id: 'a', duplicate: false, warnings: [] } }

it('retries the same event after 503, 429 and a broken connection', async test => {
  const service = await serviceThatAnswers(test, [{ status: 503 }, 'hang up', { status: 429 }, NEW])
  const answer = await submitEvent(service.credentials, EVENT)
  assert.deepEqual(answer, { eventId: 'a', status: 202, duplicate: false, retries: 3 })
  assert.deepEqual(service.bodies, Array(4).fill(JSON.stringify(EVENT)))
})

it('does not retry a refusal', async test => {
  const service = await serviceThatAnswers(test, [{ status: 422, body: { message: 'No.' } }])
  const answer = await submitEvent(service.credentials, EVENT)
  assert.deepEqual(answer, { eventId: 'a', status: 422, duplicate: null, retries: 0 })
})

it('ignores a response about another event', async test => {
  const body = { event_id: 'b', duplicate: true }
  const service = await serviceThatAnswers(test, [{ status: 200, body }])
  const answer = await submitEvent(service.credentials, EVENT)
  assert.deepEqual(answer, { eventId: 'a', status: 200, duplicate: null, retries: 0 })
})

it('stops after a refused secret, without printing it', async test => {
  const service = await serviceThatAnswers(test, [{ status: 401 }])
  await assert.rejects(submitEvent(service.credentials, EVENT), {
    message: 'The tracker secret is refused (401).',
  })
})

it('honors Retry-After in seconds, within limits', () => {
  assert.equal(retryAfterSeconds('0'), 0)
  assert.equal(retryAfterSeconds('7'), 7)
  assert.equal(retryAfterSeconds('86400'), 30)
  for (const header of [null, '', '-1', '1.5', 'Sat, 21 Nov 2026 12:00:00 GMT']) {
    assert.equal(retryAfterSeconds(header), 1)
  }
})

type Scripted = { status: number; body?: unknown } | 'hang up'

/** Sends the next scripted response, with `Retry-After: 0`. */
async function serviceThatAnswers(test: TestContext, script: Scripted[]) {
  const bodies: string[] = []
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    bodies.push(body)
    const next = script.shift()
    if (next === undefined || next === 'hang up') return request.socket.destroy()
    response.writeHead(next.status, { 'retry-after': '0' }).end(JSON.stringify(next.body ?? {}))
  })
  server.listen({ host: '127.0.0.1', port: 0 })
  await once(server, 'listening')
  test.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const base_url = `http://127.0.0.1:${port}`
  return { bodies, credentials: { base_url, tracker_secret: 'x', simulator_url: base_url } }
}
