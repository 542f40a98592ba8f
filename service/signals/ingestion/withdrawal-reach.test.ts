import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { it } from 'node:test'
import { samplePurchase } from '../../../testing/fixtures/sample-events.ts'
import { startTestService, type TestService } from '../../../testing/fixtures/service.ts'
import {
  ledgerEntry,
  plannedDelivery,
  storeEntries,
} from '../../../testing/fixtures/stored-events.ts'
import { waitUntil } from '../../../testing/fixtures/wait-until.ts'
import { isCitusCluster } from '../../runtime/db/database.ts'
import { DAY_MILLISECONDS } from '../../runtime/util/time.ts'
import { insertEventsInTransaction } from './commit-store.ts'

const JANE = { em: 'jane@example.com', ph: '+49 1512 3456789', external_id: 'Customer-9' }

it('reaches every identifier that events of the visitor carried before', async test => {
  const service = await startTestService(test)
  for (const [key, value] of Object.entries(JANE)) {
    await submit(service, `carried-${key}`, { visitor_id: 'v1', user_data: { [key]: value } })
    await submit(service, `waiting-${key}`, { user_data: { [key]: value } })
  }
  await submit(service, 'of-another', { visitor_id: 'v2', user_data: { em: 'john@example.com' } })
  service.clock.advance(60)
  assert.equal((await withdraw(service, { visitor_id: 'v1' })).status, 202)
  for (const [key, value] of Object.entries(JANE)) {
    for (const name of ['carried', 'waiting']) {
      assert.equal(await statusOf(service, `${name}-${key}`), 'skipped:consent', `${name} ${key}`)
    }
    await submit(service, `later-${key}`, { user_data: { [key]: value } })
    const hashed = { user_data: { [key]: digestOf(key) } }
    await submit(service, `hashed-${key}`, { visitor_id: 'v3', ...hashed })
    for (const name of ['later', 'hashed']) {
      assert.equal(await statusOf(service, `${name}-${key}`), 'skipped:consent', `${name} ${key}`)
    }
  }
  assert.equal(await statusOf(service, 'of-another'), 'queued')
  await service.deliver()
  assert.equal((await service.received()).count, 1)
})

it('reaches the identifiers of no other tracker', async test => {
  const service = await startTestService(test)
  const { trackerSecret: secret } = await service.newTracker()
  await submit(service, 'carried', { visitor_id: 'v1', user_data: JANE })
  await withdraw(service, { visitor_id: 'v1' })
  const body = samplePurchase({ event_id: 'theirs', visitor_id: 'v1', user_data: JANE })
  await service.request('POST', '/api/v1/events', { secret, body })
  const theirs = await service.request('GET', '/api/v1/events/theirs', { secret })
  assert.equal(theirs.body.deliveries[0].status, 'queued')
})

it('reaches the identifiers of an event that commits at the same moment', async test => {
  const service = await startTestService(test)
  const { pool } = service.database
  await submit(service, 'waiting', { user_data: { em: JANE.em } })
  // Another process has begun to store an event of the visitor before the withdrawal commits. It
  // received the event the day before: writers of one day wait for each other at its counts when
  // they share a counter shard.
  const writer = await pool.connect()
  await writer.query('begin')
  const { trackerId } = service.tracker
  const digests = { em: [digestOf('em')] }
  const payload = { visitorId: 'v1', identityMark: 'm', digests, plain: {}, clickIds: {} }
  const racing = ledgerEntry({
    trackerId,
    eventId: 'racing',
    createdAt: new Date(service.clock.now().getTime() - DAY_MILLISECONDS),
    payload,
    assumedNotWithdrawn: ['v1'],
  })
  const isCluster = await isCitusCluster(service.database)
  await insertEventsInTransaction(writer, { records: [racing], deliveries: [], isCluster })
  const withdrawal = withdraw(service, { visitor_id: 'v1' })
  await waitUntil('the withdrawal is committed', async () => {
    const { rows } = await pool.query('select 1 from consent_withdrawals')
    return rows.length > 0
  })
  await writer.query('commit')
  writer.release()
  assert.equal((await withdrawal).status, 202)
  assert.equal(await statusOf(service, 'waiting'), 'skipped:consent')
  await submit(service, 'later', { user_data: { em: JANE.em } })
  assert.equal(await statusOf(service, 'later'), 'skipped:consent')
})

it('skips at sending what was not yet in the queue when the withdrawal searched it', async test => {
  const service = await startTestService(test)
  await submit(service, 'carried', { visitor_id: 'v1', user_data: { em: JANE.em } })
  await withdraw(service, { visitor_id: 'v1' })
  // As if another process had planned it without knowing of the withdrawal.
  const { trackerId, destinationId } = service.tracker
  const digests = { em: [digestOf('em')] }
  const payload = { visitorId: null, identityMark: 'm', digests, plain: {}, clickIds: {} }
  const late = { trackerId, eventId: 'late', createdAt: service.clock.now() }
  const delivery = plannedDelivery({ trackerId, eventId: 'late', id: 1_000, destinationId })
  await storeEntries(service.database, [ledgerEntry({ ...late, payload })], [delivery])
  assert.equal(await statusOf(service, 'late'), 'queued')
  service.clock.advance(1)
  await service.deliver()
  assert.equal(await statusOf(service, 'late'), 'skipped:consent')
  assert.equal((await service.received()).count, 0)
})

it('bounds its work for a visitor ID of many people', async test => {
  const service = await startTestService(test)
  const { trackerId } = service.tracker
  const entries = Array.from({ length: 1_500 }, (_, index) =>
    ledgerEntry({
      trackerId,
      eventId: `event-${index}`,
      createdAt: service.clock.now(),
      payload: {
        visitorId: 'kiosk',
        identityMark: 'm',
        digests: { em: [hash('sha256', `${index}@example.com`)] },
        plain: {},
        clickIds: {},
      },
    }),
  )
  await storeEntries(service.database, entries)
  const bye = { event_id: 'bye', visitor_id: 'kiosk', user_data: { em: JANE.em } }
  assert.equal((await withdraw(service, bye)).status, 202)
  const { event } = (await service.read('bye')).body
  assert.deepEqual(event.consent.decision.withdrawal, { visitor: true, identifiers: 1_000 })
  await submit(service, 'named', { user_data: { em: JANE.em } })
  assert.equal(await statusOf(service, 'named'), 'skipped:consent')
})

it('accepts email, phone and external_id on either basis, raw or hashed', async test => {
  const service = await startTestService(test)
  let person = 0
  for (const basis of ['consent', 'legitimate_interest']) {
    for (const key of ['em', 'ph', 'external_id']) {
      for (const form of ['raw', 'hashed', 'list']) {
        person += 1
        const waiting = `${basis} ${key} ${form}`
        const raw = { em: `${person}@example.com`, ph: `4915123456${700 + person}` }[key]
        const value = raw ?? `customer-${person}`
        await submit(service, waiting, { user_data: { [key]: value } })
        service.clock.advance(1)
        const given = { raw: value, hashed: hash('sha256', value), list: ['', value] }[form]
        const reply = await withdraw(service, { user_data: { [key]: given } }, basis)
        assert.equal(reply.status, 202, `${waiting}: ${reply.text}`)
        assert.equal(await statusOf(service, waiting), 'skipped:consent', waiting)
      }
    }
  }
})

it('keeps identifiers as keyed digests only, which outlive payload expiry', async test => {
  const service = await startTestService(test)
  await submit(service, 'carried', { visitor_id: 'v1', user_data: { em: JANE.em } })
  await withdraw(service, { visitor_id: 'v1', user_data: { ph: JANE.ph } }, 'consent')
  const { pool } = service.database
  const stored = await pool.query('select visitor_id from consent_withdrawals')
  const keys = stored.rows.map(({ visitor_id }) => visitor_id)
  for (const key of ['em', 'ph']) assert.ok(!keys.join().includes(digestOf(key)))
  await pool.query('delete from event_payloads')
  await submit(service, 'by-mail', { user_data: { em: JANE.em } })
  await submit(service, 'by-phone', { user_data: { ph: JANE.ph } })
  assert.equal(await statusOf(service, 'by-mail'), 'skipped:consent')
  assert.equal(await statusOf(service, 'by-phone'), 'skipped:consent')
})

it('outlives the erasure of the person under every identifier', async test => {
  const service = await startTestService(test)
  await submit(service, 'carried', { visitor_id: 'v1', user_data: { em: JANE.em, ph: JANE.ph } })
  await withdraw(service, { visitor_id: 'v1' })
  const body = { identifier_hash: digestOf('em') }
  await service.request('DELETE', '/api/v1/user-data', { body })
  await submit(service, 'by-phone', { user_data: { ph: JANE.ph } })
  await submit(service, 'by-visitor', { visitor_id: 'v1', user_data: { em: 'x@example.com' } })
  for (const eventId of ['by-phone', 'by-visitor']) {
    const [delivery] = (await service.read(eventId)).body.deliveries
    assert.equal(delivery.status, 'skipped:consent', eventId)
    assert.match(delivery.explanation, /withdrew consent/, eventId)
  }
})

it('tells in the trace how far it reaches, and stores no identity', async test => {
  const service = await startTestService(test)
  await submit(service, 'carried', { visitor_id: 'v1', user_data: JANE })
  const named = { visitor_id: 'v1', user_data: { em: JANE.em, external_id: 'other' } }
  await withdraw(service, { event_id: 'bye', ...named }, 'consent')
  const { event } = (await service.read('bye')).body
  assert.deepEqual(event.consent.decision.withdrawal, { visitor: true, identifiers: 4 })
  assert.deepEqual(event.user_data_hashed, {})
  assert.equal(event.payload_expired, false)
})

it('completes the withdrawal of a repeated event, and ignores its new members', async test => {
  const service = await startTestService(test)
  await submit(service, 'carried', { visitor_id: 'v1', user_data: { em: JANE.em } })
  await withdraw(service, { event_id: 'bye', visitor_id: 'v1' })
  // As if the process had died before it looked again.
  await service.database.pool.query(`delete from consent_withdrawals where visitor_id <> 'v1'`)
  const repeated = { event_id: 'bye', visitor_id: 'v1', user_data: { ph: JANE.ph } }
  assert.equal((await withdraw(service, repeated)).status, 200)
  const other = { event_id: 'bye', visitor_id: 'v2' }
  assert.equal((await withdraw(service, other)).status, 200)
  await submit(service, 'by-mail', { user_data: { em: JANE.em } })
  await submit(service, 'by-phone', { user_data: { ph: JANE.ph } })
  await submit(service, 'of-v2', { visitor_id: 'v2', user_data: { em: 'john@example.com' } })
  assert.equal(await statusOf(service, 'by-mail'), 'skipped:consent')
  assert.equal(await statusOf(service, 'by-phone'), 'queued')
  assert.equal(await statusOf(service, 'of-v2'), 'queued')
})

it('reopens with a consent that is captured later, for the visitor and the identifiers', async test => {
  const service = await startTestService(test)
  await submit(service, 'carried', { visitor_id: 'v1', user_data: { em: JANE.em } })
  await withdraw(service, { visitor_id: 'v1' })
  service.clock.advance(3_600)
  const consent = { ad_user_data: 'granted', captured_at: '2026-11-21T12:30:00Z' }
  await submit(service, 'by-mail', { user_data: { em: JANE.em }, consent })
  await submit(service, 'by-visitor', { visitor_id: 'v1', user_data: JANE, consent })
  await service.deliver()
  assert.equal(await statusOf(service, 'by-mail'), 'accepted')
  assert.equal(await statusOf(service, 'by-visitor'), 'accepted')
})

it('treats visitor IDs with spaces around them as one visitor, and other case as another', async test => {
  const service = await startTestService(test)
  await submit(service, 'spaced', { visitor_id: ' V1\t', user_data: { em: 'a@example.com' } })
  await submit(service, 'lower', { visitor_id: 'v1', user_data: { em: 'b@example.com' } })
  service.clock.advance(1)
  await withdraw(service, { visitor_id: 'V1 ' })
  assert.equal(await statusOf(service, 'spaced'), 'skipped:consent')
  assert.equal(await statusOf(service, 'lower'), 'queued')
})

it('reaches events that an earlier version stored with the spaces around the visitor ID', async test => {
  const service = await startTestService(test)
  await submit(service, 'old', { visitor_id: 'V1', user_data: { em: JANE.em } })
  await service.database.pool.query(`update event_payloads set visitor_id = ' V1 '`)
  service.clock.advance(1)
  await withdraw(service, { visitor_id: 'V1' })
  assert.equal(await statusOf(service, 'old'), 'skipped:consent')
  await submit(service, 'by-mail', { user_data: { em: JANE.em } })
  assert.equal(await statusOf(service, 'by-mail'), 'skipped:consent')
})

const NORMALIZED: Record<string, string> = {
  em: 'jane@example.com',
  ph: '4915123456789',
  external_id: 'customer-9',
}

function digestOf(key: string): string {
  return hash('sha256', NORMALIZED[key] as string)
}

/** A purchase of a person who is known only by `person`. */
async function submit(service: TestService, event_id: string, person: object): Promise<void> {
  const body = samplePurchase({ event_id, visitor_id: undefined, click_ids: undefined, ...person })
  const reply = await service.submit(body)
  assert.equal(reply.status, 202, reply.text)
}

function withdraw(service: TestService, person: object, consent_basis = 'legitimate_interest') {
  return service.submit({ event_name: 'consent_withdrawal', consent_basis, ...person })
}

async function statusOf(service: TestService, eventId: string): Promise<string> {
  return (await service.read(eventId)).body.deliveries[0].status
}
