import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { it } from 'node:test'
import { samplePurchase } from '../../../testing/fixtures/sample-events.ts'
import { startTestService, type TestService } from '../../../testing/fixtures/service.ts'

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
