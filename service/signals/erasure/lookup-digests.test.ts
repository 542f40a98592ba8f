import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { it } from 'node:test'
import { samplePurchase } from '../../../testing/fixtures/sample-events.ts'
import { startTestService, type TestService } from '../../../testing/fixtures/service.ts'
import { ledgerEntry, storeEntries } from '../../../testing/fixtures/stored-events.ts'

const NUMBER = '491512345678'
const OURS = hash('sha256', NUMBER)
const GOOGLE = hash('sha256', `+${NUMBER}`)

function submit(service: TestService, eventId: string, changes: Record<string, unknown>) {
  return service.submit(
    samplePurchase({ event_id: eventId, visitor_id: `visitor-of-${eventId}`, ...changes }),
  )
}

async function erase(service: TestService, digest: string, type?: string): Promise<number> {
  const body = { identifier_hash: digest, ...(type && { identifier_type: type }) }
  const reply = await service.request('DELETE', '/api/v1/user-data', { body })
  assert.equal(reply.status, 200, reply.text)
  return reply.body.events_updated
}

async function statusOf(service: TestService, eventId: string): Promise<string> {
  return (await service.read(eventId)).body.deliveries[0].status
}

async function isErased(service: TestService, eventId: string): Promise<boolean> {
  return (await service.read(eventId)).body.event.payload_expired
}

for (const [name, digest] of Object.entries({ 'without +': OURS, 'with +': GOOGLE })) {
  it(`erases a person by the digest of a phone number ${name}`, async test => {
    const service = await startTestService(test)
    await submit(service, 'raw', { user_data: { phone: '+49 151 2345678' } })
    await submit(service, 'ours', { user_data: { ph: OURS } })
    await submit(service, 'google', { user_data: { sha256_phone_number: GOOGLE } })
    await submit(service, 'other', { user_data: { phone: '+49 151 2345679' } })
    assert.equal(await erase(service, digest, 'phone'), 3)
    for (const id of ['raw', 'ours', 'google']) assert.equal(await isErased(service, id), true, id)
    assert.equal(await isErased(service, 'other'), false)
    // Later events with either digest are the same person.
    await submit(service, 'later-ours', { user_data: { ph: OURS } })
    await submit(service, 'later-google', { user_data: { hashed_phone_number: GOOGLE } })
    for (const id of ['later-ours', 'later-google']) {
      assert.equal(await statusOf(service, id), 'skipped:consent', id)
    }
    await service.deliver()
    assert.equal((await service.received()).count, 1)
  })
}

it('keeps a digest with + to find the person, says so, and never sends it', async test => {
  const service = await startTestService(test)
  const user_data = { sha256_phone_number: GOOGLE, email: 'jane@example.com' }
  const reply = await submit(service, 'google', { user_data })
  assert.deepEqual(
    reply.body.notices.map(({ code, field }: Record<string, string>) => [code, field]),
    [['member_dropped', 'user_data.sha256_phone_number']],
  )
  assert.match(reply.body.notices[0].message, /erasure/)
  const { event } = (await service.read('google')).body
  assert.deepEqual(Object.keys(event.user_data_hashed), ['em'])
  await service.deliver()
  const { events } = await service.received()
  assert.ok(!JSON.stringify(events).includes(GOOGLE))
})

it('drops text under a name that takes a digest', async test => {
  const service = await startTestService(test)
  const user_data = { hashed_phone_number: '+49 151 2345678', em: 'jane@example.com' }
  const reply = await submit(service, 'raw', { user_data })
  assert.match(reply.body.notices[0].message, /SHA-256/)
  assert.equal(await erase(service, GOOGLE), 0)
})

it('learns the other digests of an erased identifier from a later event', async test => {
  const service = await startTestService(test)
  assert.equal(await erase(service, OURS), 0)
  await submit(service, 'before', { user_data: { sha256_phone_number: GOOGLE } })
  assert.equal(await isErased(service, 'before'), false)
  await submit(service, 'raw', { user_data: { phone: '+49 151 2345678' } })
  assert.equal(await isErased(service, 'raw'), true)
  await submit(service, 'after', { user_data: { sha256_phone_number: GOOGLE } })
  assert.equal(await isErased(service, 'after'), true)
})

it('erases by either form of an address of Gmail, which Google digests without dots', async test => {
  const service = await startTestService(test)
  const email = 'Jane.Doe@gmail.com'
  await submit(service, 'raw', { user_data: { email } })
  await submit(service, 'google', {
    user_data: { sha256_email_address: hash('sha256', 'janedoe@gmail.com') },
  })
  await submit(service, 'other', { user_data: { email: 'jane.doe@example.com' } })
  assert.equal(await erase(service, hash('sha256', email.toLowerCase()), 'email'), 2)
  assert.equal(await isErased(service, 'other'), false)
})

it('finds a visitor ID that is a phone number by either digest', async test => {
  const service = await startTestService(test)
  await service.submit(samplePurchase({ event_id: 'a', visitor_id: `+${NUMBER}`, user_data: {} }))
  assert.equal(await erase(service, GOOGLE), 1)
  await service.submit(samplePurchase({ event_id: 'b', visitor_id: `+${NUMBER}`, user_data: {} }))
  assert.equal(await isErased(service, 'b'), true)
})

it('erases by type only what has the digest under that type', async test => {
  const service = await startTestService(test)
  await submit(service, 'google', { user_data: { sha256_phone_number: GOOGLE } })
  assert.equal(await erase(service, GOOGLE, 'email'), 0)
  assert.equal(await erase(service, GOOGLE, 'phone'), 1)
})

it('erases page views of the visitor, and no other person of a shared browser', async test => {
  const service = await startTestService(test)
  const visitor = { visitor_id: 'shared' }
  await submit(service, 'raw', { ...visitor, user_data: { phone: `+${NUMBER}` } })
  await submit(service, 'google', { ...visitor, user_data: { sha256_phone_number: GOOGLE } })
  await submit(service, 'nobody', { ...visitor, user_data: {} })
  await submit(service, 'guest', { ...visitor, user_data: { phone: '+44 7911 123456' } })
  assert.equal(await erase(service, OURS), 3)
  assert.equal(await isErased(service, 'guest'), false)
})

it('withdraws consent of every form of the identifier', async test => {
  const service = await startTestService(test)
  await submit(service, 'raw', { user_data: { phone: `+${NUMBER}` } })
  await submit(service, 'google', {
    user_data: { sha256_phone_number: GOOGLE, em: 'jane@example.com' },
  })
  service.clock.advance(60)
  const reply = await service.submit({
    event_name: 'consent_withdrawal',
    consent_basis: 'legitimate_interest',
    user_data: { ph: OURS },
  })
  assert.equal(reply.status, 202, reply.text)
  for (const id of ['raw', 'google']) {
    assert.equal(await statusOf(service, id), 'skipped:consent', id)
  }
  await submit(service, 'later', {
    user_data: { hashed_phone_number: GOOGLE, em: 'jane@example.com' },
  })
  assert.equal(await statusOf(service, 'later'), 'skipped:consent')
})

it('accepts a withdrawal that names a person by a digest with + alone', async test => {
  const service = await startTestService(test)
  await submit(service, 'raw', { user_data: { phone: `+${NUMBER}` } })
  service.clock.advance(60)
  const reply = await service.submit({
    event_name: 'consent_withdrawal',
    consent_basis: 'legitimate_interest',
    user_data: { sha256_phone_number: GOOGLE },
  })
  assert.equal(reply.status, 202, reply.text)
  assert.equal(await statusOf(service, 'raw'), 'skipped:consent')
})

/** Each value with the text that this version digests and the one that the version before did. */
const CHANGED = [
  { type: 'external_id', value: 'User 42', now: 'user42', before: 'user 42' },
  { type: 'external_id', value: 'us\u200ber\u00a07', now: 'user7', before: 'us\u200ber\u00a07' },
  {
    type: 'email',
    value: 'ja\ufe0fne@example.com',
    now: 'jane@example.com',
    before: 'ja\ufe0fne@example.com',
  },
] as const

for (const { type, value, now, before } of CHANGED) {
  for (const erased of [now, before]) {
    it(`erases ${type} by the digest of ${JSON.stringify(erased)}, stored before and after`, async test => {
      const service = await startTestService(test)
      await submit(service, 'after', { user_data: { [type]: value } })
      await submit(service, 'other', { user_data: { [type]: `other-${now}` } })
      // As the version before stored it: no lookup digests, and the earlier form.
      const old = hash('sha256', before)
      await storeBefore(service, 'before', { [type === 'email' ? 'em' : type]: [old] })
      await storeBefore(service, 'hashed', {
        [type === 'email' ? 'em' : type]: [hash('sha256', now)],
      })
      assert.equal(await erase(service, hash('sha256', erased), type), 3)
      for (const id of ['after', 'before', 'hashed'])
        assert.equal(await isErased(service, id), true, id)
      assert.equal(await isErased(service, 'other'), false)
      // Suppressed in every form: as text, and as a digest that an earlier program computed.
      await submit(service, 'later', { user_data: { [type]: value } })
      await submit(service, 'later-hashed', { user_data: { [type]: old } })
      for (const id of ['later', 'later-hashed'])
        assert.equal(await isErased(service, id), true, id)
    })
  }

  it(`holds a withdrawal of ${type} by the digest of ${JSON.stringify(before)} in force`, async test => {
    const service = await startTestService(test)
    const reply = await service.submit({
      event_name: 'consent_withdrawal',
      consent_basis: 'legitimate_interest',
      user_data: { [type]: hash('sha256', before) },
    })
    assert.equal(reply.status, 202)
    await submit(service, 'later', { user_data: { [type]: value } })
    assert.equal(await statusOf(service, 'later'), 'skipped:consent')
  })
}

it('finds a phone number that earlier versions read without its country', async test => {
  const service = await startTestService(test)
  const number = '16505551212'
  await storeBefore(service, 'before', { ph: [hash('sha256', number)] })
  await submit(service, 'after', { user_data: { phone: number, country: 'Austria (AT)' } })
  assert.equal(await erase(service, hash('sha256', `43${number}`), 'phone'), 2)
})

/** Stores an event whose payload has digests for the default platform only. */
async function storeBefore(
  service: TestService,
  eventId: string,
  digests: Record<string, string[]>,
) {
  const { trackerId } = service.tracker
  const payload = { visitorId: null, identityMark: 'm', digests, plain: {}, clickIds: {} }
  await storeEntries(service.database, [
    ledgerEntry({ trackerId, eventId, createdAt: service.clock.now(), payload }),
  ])
}

it('keeps visitor IDs as they are, and finds them by the digest of the same external ID', async test => {
  const service = await startTestService(test)
  const visitors = ['User 42', 'us\u200ber 42', 'USER 42', ' user  42']
  for (const [index, visitor_id] of visitors.entries()) {
    await service.submit(samplePurchase({ event_id: `v-${index}`, visitor_id }))
  }
  const { rows } = await service.database.pool.query(
    'select visitor_id from event_payloads order by event_id',
  )
  assert.deepEqual(
    rows.map(row => row.visitor_id),
    visitors.map(visitor => visitor.trim()),
  )
  assert.equal(await erase(service, hash('sha256', 'user42')), visitors.length)
})

it('hides a visitor ID that is a phone number or an address with invisible characters', async test => {
  const service = await startTestService(test)
  const hidden = [
    '+49\u200b1512345678',
    'jane\u200b@example.com',
    'jane＠example.com',
    '+４９１５１２３４５６７８',
  ]
  for (const [index, visitor_id] of hidden.entries()) {
    await service.submit(samplePurchase({ event_id: `h-${index}`, visitor_id, user_data: {} }))
  }
  const stored = await service.database.pool.query('select visitor_id from event_payloads')
  for (const { visitor_id } of stored.rows) assert.match(visitor_id, /^sha256:[0-9a-f]{64}$/)
  assert.equal(await erase(service, OURS), 2)
  assert.equal(await erase(service, hash('sha256', 'jane@example.com')), 2)
})
