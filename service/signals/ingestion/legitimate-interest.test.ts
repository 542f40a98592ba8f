import assert from 'node:assert/strict'
import { it } from 'node:test'
import { startTestService } from '../../../testing/fixtures/service.ts'

const WITHDRAWAL = {
  event_id: 'bye',
  event_name: 'consent_withdrawal',
  consent_basis: 'legitimate_interest',
  visitor_id: 'visitor-1',
}

it('stores a lifecycle event without deliveries', async test => {
  const service = await startTestService(test)
  for (const [event_name, event_class, measurement_class] of [
    ['consent_withdrawal', 'lifecycle', 'ledger_only'],
    ['signal_verification', 'verification', 'modeled'],
  ]) {
    const reply = await service.submit({ ...WITHDRAWAL, event_id: event_name, event_name })
    assert.deepEqual(reply.body, {
      event_id: event_name,
      duplicate: false,
      warnings: [],
      notices: [],
    })
    const { event, deliveries } = (await service.read(event_name as string)).body
    assert.equal(event.event_class, event_class)
    assert.equal(event.measurement_class, measurement_class)
    assert.equal(event.consent_basis, 'legitimate_interest')
    assert.equal(event.attribution_join, 'none')
    assert.equal(event.enforcement_scope, 'ledger')
    assert.equal(event.consent.decision.outcome, 'ledger_only')
    assert.deepEqual(deliveries, [])
  }
})

it('stores no payload and no session for it and does not report them as expired', async test => {
  const service = await startTestService(test)
  const clicked = { click_ids: { fbclid: 'AbC' }, event_source: 'https://a.example/?fbclid=AbC' }
  const details = {
    referrer_url: 'https://b.example/',
    customer_segmentation: 'new_customer_to_business',
  }
  const { body } = await service.submit({ ...WITHDRAWAL, ...clicked, ...details })
  assert.deepEqual(
    body.notices.map(({ code, field }: { code: string; field: string }) => `${code} ${field}`),
    [
      'member_dropped click_ids',
      'member_dropped referrer_url',
      'member_dropped customer_segmentation',
    ],
  )
  const { event } = (await service.read('bye')).body
  assert.deepEqual(event.user_data_hashed, {})
  assert.deepEqual(event.click_ids, {})
  assert.equal(event.session, null)
  assert.equal(event.payload_expired, false)
  for (const table of ['event_payloads', 'sessions', 'deliveries']) {
    const { rows } = await service.database.pool.query(`select count(*) from ${table}`)
    assert.equal(rows[0].count, 0, table)
  }
})

it('returns 422 for revenue and for other conversions', async test => {
  const service = await startTestService(test)
  for (const event_name of ['Purchase', 'Lead', 'refund', 'Signal_verification', 'page_view']) {
    const reply = await service.submit({ ...WITHDRAWAL, event_name })
    assert.equal(reply.status, 422)
    assert.deepEqual(reply.body.errors, {
      event_name: ['The event_name field must be one of: signal_verification, consent_withdrawal.'],
    })
  }
  const revenue = { value_data: { value: '0', currency: 'EUR' } }
  const reply = await service.submit({ ...WITHDRAWAL, ...revenue })
  assert.deepEqual(Object.keys(reply.body.errors), ['value_data'])
  const order = { value_data: { order_id: '1001' } }
  assert.equal((await service.submit({ ...WITHDRAWAL, ...order })).status, 202)
})

it('returns 422 for identity, but accepts empty and unknown members', async test => {
  const service = await startTestService(test)
  const identities = [
    { em: 'jane@example.com' },
    { email_hash: 'x' },
    { client_ip_address: '192.0.2.1' },
    { client_user_agent: 'Mozilla/5.0' },
    { external_id: 17 },
    { ph: ['', '+49 30 123456'] },
  ]
  for (const user_data of identities) {
    const verification = { ...WITHDRAWAL, event_name: 'signal_verification', user_data }
    const reply = await service.submit(verification)
    assert.equal(reply.status, 422)
    assert.deepEqual(Object.keys(reply.body.errors), ['user_data'])
  }
  const others = [{ fn: 'Jane' }, { client_ip_address: '192.0.2.1' }, { country: 'de' }]
  for (const other of others) {
    const user_data = { em: 'jane@example.com', ...other }
    const reply = await service.submit({ ...WITHDRAWAL, user_data })
    assert.equal(reply.status, 422)
    assert.deepEqual(Object.keys(reply.body.errors), ['user_data'])
  }
  const withoutIdentity = { user_data: { em: '', ph: [], fn: null, favorite_color: 'blue' } }
  assert.equal((await service.submit({ ...WITHDRAWAL, ...withoutIdentity })).status, 202)
})

it('ignores consent signals', async test => {
  const service = await startTestService(test)
  const reply = await service.submit({ ...WITHDRAWAL, consent: { ad_user_data: 'denied' } })
  assert.equal(reply.status, 202)
  const { event } = (await service.read('bye')).body
  assert.equal(event.consent.decision.reason, 'legitimate_interest')
  assert.equal(event.consent.ad_user_data, 'denied')
})
