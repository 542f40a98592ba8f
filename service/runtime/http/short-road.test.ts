import assert from 'node:assert/strict'
import type { AddressInfo } from 'node:net'
import { it, type TestContext } from 'node:test'
import { sendRawBytes } from '../../../testing/fixtures/raw-http.ts'
import { waitUntil } from '../../../testing/fixtures/wait-until.ts'
import { createLogger } from './logger.ts'
import { type CompletedRequest, createServiceApp } from './service-app.ts'
import type { RoadReply, RoadRequest } from './short-road.ts'

const URL_PATH = '/things'
const POST = `POST ${URL_PATH} HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n`
const REQUEST = `${POST}Content-Length: 9\r\n\r\n{"a":"b"}`

/** An app whose only route of the short road has this handler, without a guard. */
async function listen(
  test: TestContext,
  handler: (request: RoadRequest, reply: RoadReply) => Promise<unknown>,
) {
  const completed: CompletedRequest[] = []
  const lines: string[] = []
  const logger = createLogger('debug', { write: line => void lines.push(line) })
  const app = createServiceApp(logger, request => completed.push(request))
  const config = { operationId: 'createThing' }
  app.post(URL_PATH, { config }, async () => ({ road: 'framework' }))
  const routeOptions = { url: URL_PATH, config, bodyLimit: 1_000 }
  app.shortRoad.addRoute({ handler, routeOptions, server: app })
  await app.listen({ host: '127.0.0.1', port: 0 })
  test.after(() => app.close())
  const url = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`
  return { app, url, completed, lines }
}

it('reports a response to metrics and to the log as the framework does', async test => {
  const { url, completed, lines } = await listen(test, async ({ body }, reply) =>
    reply.code(202).send({ body }),
  )
  const closing = REQUEST.replace('Host: a', 'Host: a\r\nConnection: close')
  const short = await sendRawBytes(url, closing)
  const whole = await sendRawBytes(url, closing.replace(URL_PATH, `${URL_PATH}?`))
  assert.equal(short.body, '{"body":{"a":"b"}}')
  assert.equal(whole.body, '{"road":"framework"}')
  await waitUntil('both are reported', () => completed.length === 2)
  assert.deepEqual(
    completed.map(({ operation, method, status }) => ({ operation, method, status })),
    [202, 200].map(status => ({ operation: 'createThing', method: 'POST', status })),
  )
  for (const { seconds } of completed) assert.ok(seconds >= 0 && seconds < 60)
  const answered = lines.map(line => JSON.parse(line)).filter(({ msg }) => /answered/.test(msg))
  assert.deepEqual(
    answered.map(({ route, method, status }) => ({ route, method, status })),
    [202, 200].map(status => ({ route: URL_PATH, method: 'POST', status })),
  )
})

it('answers 500 to a handler that fails, and logs the error once', async test => {
  const { url, lines } = await listen(test, async () => {
    throw new Error('broken')
  })
  const { head, body } = await sendRawBytes(
    url,
    REQUEST.replace('Host: a', 'Host: a\r\nConnection: close'),
  )
  assert.match(head, /^HTTP\/1\.1 500 /)
  assert.match(JSON.parse(body).message, /went wrong on our side/)
  const failures = () => lines.filter(line => line.includes('request failed'))
  await waitUntil('the line is there', () => failures().length > 0)
  assert.equal(failures().length, 1)
})

it('closes the connection when a response cannot be written, and goes on', async test => {
  const { url, lines } = await listen(test, async ({ body }, reply) => {
    if ((body as { a: string }).a === 'b') reply.header('location', 'line\nbreak')
    reply.send({})
  })
  assert.equal((await sendRawBytes(url, REQUEST)).text, '')
  assert.ok(lines.some(line => line.includes('an error could not be sent')))
  const other = REQUEST.replace('"b"', '"c"').replace('Host: a', 'Host: a\r\nConnection: close')
  assert.match((await sendRawBytes(url, other)).head, /^HTTP\/1\.1 200 /)
})

it('keeps no bytes of a body while its request waits', async test => {
  const answer = Promise.withResolvers<void>()
  const listeners = Promise.withResolvers<number>()
  const { url } = await listen(test, async ({ raw }, reply) => {
    listeners.resolve(raw.listenerCount('data'))
    await answer.promise
    reply.header('connection', 'close').send({})
  })
  const exchange = sendRawBytes(url, REQUEST)
  assert.equal(await listeners.promise, 0)
  answer.resolve()
  assert.match((await exchange).head, /^HTTP\/1\.1 200 /)
})

it('closes the connection of a request that is answered during the shutdown', async test => {
  const answer = Promise.withResolvers<void>()
  const started = Promise.withResolvers<void>()
  const { app, url } = await listen(test, async (_request, reply) => {
    started.resolve()
    await answer.promise
    reply.send({})
  })
  const exchange = sendRawBytes(url, REQUEST)
  await started.promise
  const closed = app.close()
  await waitUntil('it no longer listens', () => !app.server.listening)
  answer.resolve()
  const { head, answers } = await exchange
  assert.equal(answers, 1)
  assert.match(head, /\r\nconnection: close\r\n/i)
  await closed
})
