import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { it } from 'node:test'
import { startTestService } from '../../../testing/fixtures/service.ts'

const NOT_FILLED = [
  'undefined',
  'null',
  '0',
  ' ',
  'NaN',
  '[object Object]',
  '00000000-0000-0000-0000-000000000000',
]

it('returns 422 naming the members it could use when a withdrawal names no one', async test => {
  const service = await startTestService(test)
  const unnamed: [members: object, fields: string[]][] = [
    [{}, ['visitor_id']],
    [{ user_data: {} }, ['visitor_id']],
    [{ user_data: { em: '', ph: [], external_id: null } }, ['visitor_id', 'user_data.em']],
    [{ user_data: { em: 'nobody' } }, ['visitor_id', 'user_data.em']],
    [{ user_data: { email: 'x', ph: '12' } }, ['visitor_id', 'user_data.email', 'user_data.ph']],
    [{ user_data: { external_id: 0 } }, ['visitor_id', 'user_data.external_id']],
    [{ user_data: { em: ['a', 'b'] } }, ['visitor_id', 'user_data.em[0]', 'user_data.em[1]']],
  ]
  for (const value of NOT_FILLED.filter(text => text.trim() !== '')) {
    unnamed.push([{ visitor_id: value }, ['visitor_id']])
    unnamed.push([{ visitor_id: hash('sha256', value.toLowerCase()) }, ['visitor_id']])
    for (const given of [value, hash('sha256', value.toLowerCase())]) {
      unnamed.push([{ user_data: { external_id: given } }, ['visitor_id', 'user_data.external_id']])
    }
  }
  for (const consent_basis of ['consent', 'legitimate_interest']) {
    for (const [members, fields] of unnamed) {
      const body = { event_name: 'consent_withdrawal', consent_basis, ...members }
      const { status, body: answer } = await service.submit(body)
      assert.equal(status, 422, JSON.stringify(body))
      assert.deepEqual(Object.keys(answer.errors), fields, JSON.stringify(body))
      assert.match(
        answer.errors.visitor_id.join(),
        /user_data\.em, user_data\.ph or user_data\.ext/,
      )
    }
  }
  const { rows } = await service.database.pool.query('select count(*) from consent_withdrawals')
  assert.equal(rows[0].count, 0)
})

it('accepts a withdrawal with one usable member and names the others in notices', async test => {
  const service = await startTestService(test)
  const reply = await service.submit({
    event_name: 'consent_withdrawal',
    consent_basis: 'legitimate_interest',
    visitor_id: 'undefined',
    user_data: { em: 'jane@example.com', external_id: '0', ph: '12' },
  })
  assert.equal(reply.status, 202)
  const notices: { code: string; field: string }[] = reply.body.notices
  assert.deepEqual(
    notices.map(({ code, field }) => `${code} ${field}`),
    [
      'member_dropped user_data.external_id',
      'member_dropped user_data.ph',
      'member_dropped visitor_id',
    ],
  )
})

it('names identity that a withdrawal on the basis of consent does not keep', async test => {
  const service = await startTestService(test)
  const reply = await service.submit({
    event_name: 'consent_withdrawal',
    consent_basis: 'consent',
    user_data: { email: 'jane@example.com', first_name: 'Jane', client_user_agent: 'Mozilla/5.0' },
  })
  assert.equal(reply.status, 202)
  const notices: { code: string; field: string }[] = reply.body.notices
  assert.deepEqual(
    notices.map(({ code, field }) => `${code} ${field}`),
    ['member_dropped user_data.first_name', 'member_dropped user_data.client_user_agent'],
  )
})

it('returns the same errors in the sandbox', async test => {
  const service = await startTestService(test)
  const { body: key } = await service.request('POST', '/api/v1/sandbox/keys', { secret: null })
  const { status, body } = await service.request('POST', '/api/v1/sandbox/keyed-events', {
    secret: key.api_key,
    body: { event_name: 'consent_withdrawal', consent_basis: 'consent', visitor_id: '0' },
  })
  assert.equal(status, 422)
  assert.deepEqual(Object.keys(body.errors), ['visitor_id'])
})

it('returns 422 with the right spelling for a misspelled reserved name, on any basis', async test => {
  const service = await startTestService(test)
  const misspelled = [
    ...['ConsentWithdrawal', 'consent-withdrawal', 'CONSENT_WITHDRAWAL', 'Consent Withdrawal'],
    ...['consent_withdrawl', 'consent_withdrawn', 'withdraw_consent', 'consent\u200b_withdrawal'],
    ...['ConsentRevoked', 'revoke_consent', 'withdrawal_of_consent', 'Consent Withdrawal Event'],
    ...['Signal Verification', 'signalVerification', 'signal-verification', 'signal_verified'],
  ]
  for (const consent_basis of ['consent', 'legitimate_interest']) {
    for (const event_name of misspelled) {
      const body = { event_name, consent_basis, visitor_id: 'v-1' }
      const { status, body: answer } = await service.submit(body)
      assert.equal(status, 422, event_name)
      const [sentence] = answer.errors.event_name
      assert.match(sentence, /consent_withdrawal|signal_verification/)
    }
  }
  const verification = { event_name: 'signal_verification', consent_basis: 'consent' }
  assert.equal((await service.submit(verification)).status, 422)
  for (const event_name of [
    'consent_given',
    'Withdrawal',
    'bank_withdrawal',
    'signup_verification',
  ]) {
    const body = { event_id: event_name, event_name, consent_basis: 'consent' }
    assert.equal((await service.submit(body)).status, 202, event_name)
  }
})
