import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { it, type TestContext } from 'node:test'
import pg from 'pg'
import { generateWebhookSecret, signWebhook } from '../../service/runtime/webhooks/client.ts'
import {
  buildErasureMessage,
  buildMessage,
} from '../../service/signals/platforms/webhook/payload.ts'
import { createTestDatabase } from '../../testing/fixtures/database.ts'
import { sampleOutboundEvent } from '../../testing/fixtures/sample-events.ts'
import { createReceiver, SCHEMA } from './receiver.ts'

const NOW = new Date('2026-11-21T12:00:00.000Z')
const SECRET = generateWebhookSecret()

async function startReceiver(test: TestContext) {
  const { connectionString } = await createTestDatabase(test)
  const pool = new pg.Pool({ connectionString })
  await pool.query(SCHEMA)
  const server = createReceiver({ pool, secrets: [SECRET], now: () => NOW })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  test.after(async () => {
    server.closeAllConnections()
    server.close()
    await pool.end()
  })
  const { port } = server.address() as AddressInfo
  const send = async (eventIds: readonly string[], secret = SECRET) => {
    const events = eventIds.map(eventId => sampleOutboundEvent({ eventId }))
    return post(buildMessage(events, { isTest: false }), { messageId: eventIds.join(), secret })
  }
  const post = async (body: string, { messageId = 'msg_1', secret = SECRET }) => {
    const signature = signWebhook({ secret, previous: null }, { messageId, at: NOW, body })
    const url = `http://127.0.0.1:${port}`
    return (await fetch(url, { method: 'POST', headers: signature, body })).status
  }
  const stored = async () => {
    const { rows } = await pool.query(
      'select event_id, value::text, event from signalbox_events order by event_id',
    )
    return rows
  }
  return { send, post, stored }
}

it('stores each event once, in repeats and in other batches', async test => {
  const { send, stored } = await startReceiver(test)
  const statuses = await Promise.all([send(['a', 'b']), send(['a', 'b']), send(['b', 'c'])])
  assert.deepEqual(statuses, [200, 200, 200])
  const rows = await stored()
  assert.deepEqual(
    rows.map(({ event_id, value }) => [event_id, value]),
    [
      ['a', '19.90'],
      ['b', '19.90'],
      ['c', '19.90'],
    ],
  )
  assert.deepEqual(rows[0].event.user, { email_sha256: ['e'.repeat(64)] })
})

it('deletes the events of an erased person alone', async test => {
  const { send, post, stored } = await startReceiver(test)
  await send(['a', 'b'])
  const erase = (digest: string) =>
    post(buildErasureMessage({ id: '1', digest, erasedAt: NOW }), {})
  assert.equal(await erase('f'.repeat(64)), 200)
  assert.equal((await stored()).length, 2)
  assert.equal(await erase('e'.repeat(64)), 200)
  assert.deepEqual(await stored(), [])
})

it('stores nothing of a message with another signature', async test => {
  const { send, stored } = await startReceiver(test)
  assert.equal(await send(['a'], generateWebhookSecret()), 401)
  assert.deepEqual(await stored(), [])
})
