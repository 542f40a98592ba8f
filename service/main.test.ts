import assert from 'node:assert/strict'
import { once } from 'node:events'
import { existsSync, rmSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { readProcessIdentity } from '@signalbox/embedded-postgres/process-identity.ts'
import {
  createInstallation,
  DEFAULT_HTTP_WORKERS,
  isReachable,
  type ReadyProgram,
  type TestInstallation,
} from '../testing/fixtures/program.ts'
import { samplePurchase } from '../testing/fixtures/sample-events.ts'
import { waitUntil } from '../testing/fixtures/wait-until.ts'

describe('the program as a whole', { concurrency: true }, () => {
  it('shuts down cleanly on a signal, and starts again with the same data', async test => {
    const place = createInstallation(test)
    const first = await place.startReady({ environment: DEFAULT_HTTP_WORKERS })
    const secret = place.credentials().tracker_secret
    assert.equal(await submit(first, secret, { event_id: 'before' }), 202)

    await test.test(
      'returns 202 for a request in flight at SIGTERM, then exits with 0',
      async () => {
        const client = await beginRequest(first, secret, { event_id: 'in-flight' })
        const simulator = place.credentials().simulator_url ?? ''
        const postgres = place.postgresProcessId() ?? 0
        assert.ok(readProcessIdentity(postgres))
        const ending = first.kill('SIGTERM')
        await waitUntil(
          'it accepts no connection',
          async () => !(await isReachable(`${first.url}/livez`)),
        )
        client.socket.write(client.rest)
        assert.match(await readToEnd(client.socket), /^HTTP\/1.1 202 Accepted\r\n/)
        assert.deepEqual(await ending, { code: 0, signal: null })
        assert.equal(readProcessIdentity(postgres), null)
        assert.equal(await isReachable(simulator), false)
      },
    )

    const second = await place.startReady()
    await test.test('the next start has the same secret and the same events', async () => {
      assert.equal(place.credentials().tracker_secret, secret)
      assert.equal(place.credentials().base_url, `${second.url}/api/v1`)
      for (const event_id of ['before', 'in-flight']) {
        assert.equal(await submit(second, secret, { event_id }), 200)
      }
    })

    await test.test(
      'a client that stalls in the middle of a body does not delay the shutdown',
      async () => {
        const client = await beginRequest(second, secret, { event_id: 'stalled' })
        const cutOff = once(client.socket, 'close')
        assert.deepEqual(await second.kill('SIGINT'), { code: 0, signal: null })
        await cutOff
      },
    )

    await test.test(
      'returns 401 for the old secret after credentials.json was lost and recreated',
      async () => {
        rmSync(join(place.dataFolder, 'credentials.json'))
        const third = await place.startReady()
        const newSecret = place.credentials().tracker_secret
        assert.notEqual(newSecret, secret)
        assert.equal(await submit(third, secret, { event_id: 'after' }), 401)
        assert.equal(await submit(third, newSecret, { event_id: 'before' }), 200)
        assert.equal(await submit(third, newSecret, { event_id: 'after' }), 202)
      },
    )
  })

  it('a signal during the first start lets it finish and then shuts down', async test => {
    const place = createInstallation(test, { isEmpty: true })
    const program = place.start()
    await waitUntil('PostgreSQL runs', () => place.postgresProcessId() !== null)
    assert.deepEqual(await program.kill('SIGTERM'), { code: 0, signal: null })
    assert.equal(place.postgresProcessId(), null)
    assert.equal(await isReachable(place.credentials().simulator_url ?? ''), false)
  })

  it('the next start completes a first start that was killed repeatedly', async test => {
    const place = createInstallation(test, { isEmpty: true })
    const has = (name: string) => existsSync(join(place.dataFolder, name))
    const moments: [string, () => boolean][] = [
      ['the folder is made', () => has('owner.json')],
      ['PostgreSQL runs', () => place.postgresProcessId() !== null],
      ['the key is made', () => has('credential-key')],
    ]
    for (const [moment, hasCome] of moments) {
      const program = place.start()
      await waitUntil(moment, hasCome)
      await program.kill('SIGKILL')
    }
    const program = await place.startReady()
    assert.equal(await submit(program, place.credentials().tracker_secret, {}), 202)
    await waitUntil('the event is accepted', () => isAccepted(place, 'order-1001'))
  })
})

/** These programs run by the real clock, so nothing in the purchase may have a date. */
function purchase(changes: Record<string, unknown>) {
  return samplePurchase({ consent: { ad_user_data: 'granted' }, ...changes })
}

async function submit(
  { url }: ReadyProgram,
  secret: string,
  changes: Record<string, unknown>,
): Promise<number> {
  const response = await fetch(`${url}/api/v1/events`, {
    method: 'POST',
    headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
    body: JSON.stringify(purchase(changes)),
  })
  return response.status
}

async function isAccepted(place: TestInstallation, eventId: string): Promise<boolean> {
  const { base_url, tracker_secret } = place.credentials()
  const headers = { authorization: `Bearer ${tracker_secret}` }
  const read = await fetch(`${base_url}/events/${eventId}`, { headers })
  const { deliveries } = (await read.json()) as { deliveries: { status: string }[] }
  return deliveries[0]?.status === 'accepted'
}

/** Sends a request but for the end of its body, and returns that end. */
async function beginRequest(
  { url }: ReadyProgram,
  secret: string,
  changes: Record<string, unknown>,
): Promise<{ socket: Socket; rest: string }> {
  const { hostname, port } = new URL(url)
  const socket = connect({ host: hostname, port: Number(port) }).on('error', () => {})
  await once(socket, 'connect')
  const body = JSON.stringify(purchase(changes))
  const head = [
    'POST /api/v1/events HTTP/1.1',
    `host: ${hostname}`,
    `authorization: Bearer ${secret}`,
    'content-type: application/json',
    `content-length: ${Buffer.byteLength(body)}`,
  ]
  socket.write(`${head.join('\r\n')}\r\n\r\n${body.slice(0, 10)}`)
  // The service has read the head once it answers a question that was asked later.
  await fetch(`${url}/livez`)
  return { socket, rest: body.slice(10) }
}

async function readToEnd(socket: Socket): Promise<string> {
  let text = ''
  for await (const chunk of socket) text += chunk
  return text
}
