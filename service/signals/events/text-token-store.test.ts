import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { it } from 'node:test'
import { samplePurchase } from '../../../testing/fixtures/sample-events.ts'
import { startTestService, type TestService } from '../../../testing/fixtures/service.ts'
import { findEventsById } from './event-store.ts'
import { replaceTextTokens } from './text-token-store.ts'

const EMAIL = 'jane@mail.example'
const OLD = `redacted_${'0a'.repeat(16)}`
const OTHER = `redacted_${'1b'.repeat(16)}`
const TOKENS = /redacted_[0-9a-f]{32}/g

/** Stores events as an earlier version did: an address has one token in all of them. */
async function storeOldEvents(service: TestService, ids: readonly string[]) {
  const bodies = ids.map(event_id =>
    samplePurchase({
      event_id,
      value_data: {
        value: '1',
        currency: 'EUR',
        order_id: EMAIL,
        contents: [{ id: 'mug', title: `For ${EMAIL}`, note: { [EMAIL]: 'john@mail.example' } }],
      },
      app_data: { vendor_id: EMAIL },
    }),
  )
  for (const body of bodies) assert.equal((await service.submit(body)).status, 202)
  const { pool } = service.database
  const { trackerId } = service.tracker
  for (const event_id of ids) {
    const [event] = await findEventsById(service.database, trackerId, [event_id])
    const all = JSON.stringify([event?.valueData, event?.payload?.details])
    const title = all.match(/For (redacted_[0-9a-f]{32})/)?.[1] as string
    const john = all.match(/:"(redacted_[0-9a-f]{32})"\}\}/)?.[1] as string
    const text = `replace(replace(replace($COLUMN::text, $2, $3), $4, $5), $6, $3)`
    const values = [event_id, title, OLD, john, OTHER, event?.orderId as string]
    await pool.query(
      `update events set order_id = $3,
         value_data = ${text.replace('$COLUMN', 'value_data')}::json where event_id = $1`,
      values,
    )
    await pool.query(
      `update event_payloads set user_data = ${text.replace('$COLUMN', 'user_data')}::json
       where event_id = $1`,
      values,
    )
  }
  await pool.query(
    `insert into free_text_scans (tracker_id, scanned_to, until)
     values ($1, '-infinity', $2)`,
    [trackerId, service.clock.now()],
  )
  service.clock.advance(3_600)
  return bodies
}

/** The tokens of an event: of its order, and the distinct ones of everything else. */
async function readTokens(service: TestService, eventId: string) {
  const { trackerId } = service.tracker
  const [event] = await findEventsById(service.database, trackerId, [eventId])
  const { order_id, ...others } = event?.valueData ?? {}
  assert.equal(order_id, event?.orderId)
  const text = JSON.stringify([others, event?.payload?.details])
  return { order: event?.orderId, all: text.match(TOKENS) ?? [] }
}

async function countScans({ database }: TestService): Promise<number> {
  const { rows } = await database.pool.query('select count(*)::integer as n from free_text_scans')
  return rows[0].n
}

it('replaces stored tokens by others for each event, and keeps those of orders', async test => {
  const service = await startTestService(test)
  const [body] = await storeOldEvents(service, ['first', 'second', 'third'])
  assert.deepEqual((await readTokens(service, 'first')).all, [OLD, OLD, OTHER, OLD])
  const { database } = service
  const now = service.clock.now()
  assert.equal(await replaceTextTokens({ database, now, chunkEvents: 2 }), 3)
  const seen = new Set([OLD, OTHER])
  for (const id of ['first', 'second', 'third']) {
    const { order, all } = await readTokens(service, id)
    assert.equal(order, OLD)
    const [title, name, john, vendor] = all
    assert.deepEqual([name, vendor], [title, title])
    for (const token of [title as string, john as string]) {
      assert.equal(seen.has(token), false)
      seen.add(token)
    }
  }
  assert.equal(await countScans(service), 0)
  assert.equal(await replaceTextTokens({ database, now }), 0)
  assert.deepEqual((await service.submit(body)).body.notices ?? [], [])
})

it('replaces an action source that names a person, and keeps words of the shop', async test => {
  const service = await startTestService(test)
  const named = ['jane%40mail.example', 'call +49 1512 3456789', EMAIL]
  const kept = ['kiosk_12', 'website', 'physical_store']
  const sources = [...named, ...kept]
  const ids = sources.map((_, at) => `order-${at}`)
  await storeOldEvents(service, ids)
  const { database } = service
  for (const [at, source] of sources.entries()) {
    const values = [ids[at], source === 'website' ? null : source]
    await database.pool.query('update events set action_source = $2 where event_id = $1', values)
  }
  await replaceTextTokens({ database, now: service.clock.now(), chunkEvents: 4 })
  const { rows } = await database.pool.query(
    `select coalesce(action_source, 'website') as source from events order by created_at, event_id`,
  )
  assert.deepEqual(
    rows.map(({ source }) => source),
    [...named.map(() => 'other'), ...kept],
  )
})

it('goes on after an interruption, and scans until the earlier version has ended', async test => {
  const service = await startTestService(test)
  await storeOldEvents(service, ['first'])
  const { database } = service
  const { pool } = database
  const stopped = new AbortController()
  stopped.abort()
  const now = service.clock.now()
  assert.equal(await replaceTextTokens({ database, now, signal: stopped.signal }), 0)
  await pool.query('update free_text_scans set until = $1', [new Date(now.getTime() + 1_000)])
  assert.equal(await replaceTextTokens({ database, now }), 1)
  assert.equal(await countScans(service), 1)
  assert.equal(await replaceTextTokens({ database, now }), 0)
  service.clock.advance(3_600)
  assert.equal(await replaceTextTokens({ database, now: service.clock.now() }), 0)
  assert.equal(await countScans(service), 0)
})

it('leaves an event that was erased meanwhile, and other trackers', async test => {
  const service = await startTestService(test)
  await storeOldEvents(service, ['first'])
  const other = await service.newTracker()
  const { pool } = service.database
  await pool.query('delete from free_text_scans')
  await pool.query(
    `insert into free_text_scans (tracker_id, scanned_to, until) values ($1, '-infinity', $2)`,
    [other.trackerId, service.clock.now()],
  )
  const { database } = service
  const now = service.clock.now()
  assert.equal(await replaceTextTokens({ database, now }), 0)
  assert.equal((await readTokens(service, 'first')).all[0], OLD)
  const identifier_hash = hash('sha256', EMAIL)
  await service.request('DELETE', '/api/v1/user-data', { body: { identifier_hash } })
  const before = await service.read('first')
  await pool.query(
    `insert into free_text_scans (tracker_id, scanned_to, until) values ($1, '-infinity', $2)`,
    [service.tracker.trackerId, now],
  )
  assert.equal(await replaceTextTokens({ database, now }), 0)
  assert.deepEqual((await service.read('first')).body, before.body)
  assert.deepEqual(await readTokens(service, 'first'), { order: 'redacted', all: [] })
})
