import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { it, type TestContext } from 'node:test'
import { createClient } from './read-credentials.ts'
import { submitEvent } from './submit-events.ts'

const EVENT = { event_id: 'a', event_name: 'Purchase', consent_basis: 'consent' } as const
const NEW = { status: 202, body: { event_id: 'a', duplicate: false, warnings: [] } }

it('counts how often the same event was sent again', async test => {
  const service = await serviceThatAnswers(test, [{ status: 503 }, 'hang up', NEW])
  const answer = await submitEvent(service.client, EVENT)
  assert.deepEqual(answer, { eventId: 'a', status: 202, duplicate: false, retries: 2 })
  assert.deepEqual(service.bodies, Array(3).fill(JSON.stringify(EVENT)))
})

it('does not retry a refusal', async test => {
  const service = await serviceThatAnswers(test, [{ status: 422, body: { message: 'No.' } }])
  const answer = await submitEvent(service.client, EVENT)
  assert.deepEqual(answer, { eventId: 'a', status: 422, duplicate: null, retries: 0 })
})

it('ignores a response about another event', async test => {
  const body = { event_id: 'b', duplicate: true }
  const service = await serviceThatAnswers(test, [{ status: 200, body }])
  const answer = await submitEvent(service.client, EVENT)
  assert.deepEqual(answer, { eventId: 'a', status: 200, duplicate: null, retries: 0 })
})

it('stops after a refused secret, without printing it', async test => {
  const service = await serviceThatAnswers(test, [{ status: 401 }])
  await assert.rejects(submitEvent(service.client, EVENT), {
    message: 'The tracker secret is refused (401).',
  })
})

type Scripted = { status: number; body?: unknown } | 'hang up'

/** Sends the next scripted response. */
async function serviceThatAnswers(test: TestContext, script: Scripted[]) {
  const bodies: string[] = []
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    bodies.push(body)
    const next = script.shift()
    if (next === undefined || next === 'hang up') return request.socket.destroy()
    response.writeHead(next.status).end(JSON.stringify(next.body ?? {}))
  })
  server.listen({ host: '127.0.0.1', port: 0 })
  await once(server, 'listening')
  test.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const base_url = `http://127.0.0.1:${port}`
  const client = createClient({ base_url, tracker_secret: 'x', simulator_url: base_url })
  return { bodies, client }
}
