import assert from 'node:assert/strict'
import { it } from 'node:test'
import { normalizeMetaUserData } from '../../../../testing/fixtures/meta-identity.ts'
import { DROP_REASONS } from '../../identity/dropped-fields.ts'

it('keeps the address, the user agent, fbc, fbp and the ids of Meta', () => {
  const plain = {
    client_ip_address: '8.8.8.8',
    client_user_agent: 'Mozilla/5.0 (X11; Linux x86_64)',
    fbc: 'fb.1.1795255000000.AbCdEfGhIjKlMnOpQrStUvWxYz1234567890',
    fbp: 'fb.1.1558571054389.1098115397',
    lead_id: '525645896321548',
    madid: 'cdda802e-fb9c-47ad-9866-0794d394c912',
  }
  assert.deepEqual(normalizeMetaUserData(plain), { digests: {}, plain, dropped: [] })
})

it('strips control characters from the user agent and cuts it at 1,024 characters', () => {
  const { plain } = normalizeMetaUserData({
    client_user_agent: `Mo\u0000zil\r\nla\u009f ${'x'.repeat(20_000)}`,
  })
  assert.equal(plain.client_user_agent, `Mozilla ${'x'.repeat(1_016)}`)
})

it('leaves no half of a surrogate pair where the user agent was cut', () => {
  const { plain } = normalizeMetaUserData({ client_user_agent: `${'x'.repeat(1_023)}😀` })
  assert.equal(plain.client_user_agent, 'x'.repeat(1_023))
})

it('drops bad values of unhashed fields with their reasons', () => {
  const { plain, dropped } = normalizeMetaUserData({
    client_ip_address: '10.0.0.1',
    client_user_agent: '\u0000\u0001',
    fbc: 'IwAR2F4',
    fbp: 'fb.1.1558571054389.random',
    lead_id: 'lead-1',
    madid: 'a@example.com',
    fb_login_id: 2 ** 60,
  })
  assert.deepEqual(plain, {})
  assert.deepEqual(dropped, [
    { field: 'user_data.client_ip_address', reason: DROP_REASONS.address },
    { field: 'user_data.client_user_agent', reason: DROP_REASONS.empty },
    { field: 'user_data.fbc', reason: DROP_REASONS.fbc },
    { field: 'user_data.fbp', reason: DROP_REASONS.fbp },
    { field: 'user_data.lead_id', reason: DROP_REASONS.digits },
    { field: 'user_data.madid', reason: DROP_REASONS.opaque },
    { field: 'user_data.fb_login_id', reason: DROP_REASONS.unsafeInteger },
  ])
})

it('keeps 64-bit ids of Meta as text, digit for digit', () => {
  const { plain } = normalizeMetaUserData({ fb_login_id: '9223372036854775807', lead_id: 12_345 })
  assert.deepEqual(plain, { fb_login_id: '9223372036854775807', lead_id: '12345' })
})

it('takes one address, not a list of candidates', () => {
  const { plain, dropped } = normalizeMetaUserData({ client_ip_address: ['8.8.8.8', '1.1.1.1'] })
  assert.deepEqual(plain, { client_ip_address: '8.8.8.8' })
  assert.deepEqual(dropped, [
    { field: 'user_data.client_ip_address[1]', reason: DROP_REASONS.oneOnly },
  ])
})
