import assert from 'node:assert/strict'
import { it } from 'node:test'
import {
  type ForwardedRequest,
  SHOP_ORIGIN,
  samplePageView,
  signForwardedRequest,
} from '../../../testing/fixtures/sample-events.ts'
import { startTestService, type TestService } from '../../../testing/fixtures/service.ts'
import { buildTcString } from '../../../testing/fixtures/tc-string.ts'

const EVENTS = '/api/v1/events'
const GPC = { 'Sec-GPC': '1' }
const BODY = JSON.stringify(samplePageView({ consent: { advertising: 'granted' } }))

function post(service: TestService, headers: Record<string, string>, rawBody = BODY) {
  const secret = service.tracker.publishableKey
  return service.request('POST', EVENTS, { secret, headers, rawBody })
}

function signed(service: TestService, changes: Partial<ForwardedRequest> = {}) {
  const secret = service.tracker.forwardingSecret
  return signForwardedRequest({ secret, body: BODY, at: service.clock.now(), ...changes })
}

it('returns 422 for Sec-GPC: 1 from a page, beside any grant', async test => {
  const service = await startTestService(test)
  for (const headers of [GPC, { ...GPC, origin: SHOP_ORIGIN }]) {
    const reply = await post(service, headers)
    assert.equal(reply.status, 422)
    assert.deepEqual(Object.keys(reply.body.errors), ['Sec-GPC'])
  }
  assert.equal((await post(service, { 'Sec-GPC': '0' })).status, 202)
})

it('returns 422 for Sec-GPC: 1 through a proxy and through a forwarder that signs it', async test => {
  const service = await startTestService(test, { trustedProxies: '127.0.0.0/8, ::1' })
  const proxied = { ...GPC, 'X-Forwarded-For': '8.8.8.8' }
  assert.equal((await post(service, proxied)).status, 422)
  const forwarded = signed(service, { clientIp: '8.8.8.8', hasGpc: true })
  const reply = await post(service, forwarded)
  assert.equal(reply.status, 422)
  assert.deepEqual(Object.keys(reply.body.errors), ['Sec-GPC'])
})

it('lets an unsigned header restrict, and refuses the removal of a signed one', async test => {
  const service = await startTestService(test)
  const unsigned = { ...signed(service), ...GPC }
  assert.equal((await post(service, unsigned)).status, 422)
  service.clock.advance(1)
  const { 'Sec-GPC': removed, ...rest } = signed(service, { hasGpc: true })
  assert.equal((await post(service, rest)).status, 401)
  assert.equal((await post(service, signed(service))).status, 202)
})

it('ignores the header of a server with a secret key', async test => {
  const service = await startTestService(test)
  const { trackerSecret: secret } = service.tracker
  const reply = await service.request('POST', EVENTS, { secret, headers: GPC, rawBody: BODY })
  assert.equal(reply.status, 202)
})

it('accepts a withdrawal of consent with the header', async test => {
  const service = await startTestService(test)
  const withdrawal = {
    event_name: 'consent_withdrawal',
    consent_basis: 'legitimate_interest',
    visitor_id: 'visitor-1',
  }
  assert.equal((await post(service, GPC, JSON.stringify(withdrawal))).status, 202)
})

it('requires the configured provider in an Additional Consent string', async test => {
  const service = await startTestService(test, { additionalConsentProvider: 89 })
  const submit = (addtl_consent: string, event_id: string) => {
    const tcf = { string: buildTcString(), addtl_consent }
    const { consent, ...event } = samplePageView({ event_id, tcf })
    return service.submit(event)
  }
  assert.equal((await submit('2~89.311~dv.9', 'listed')).status, 202)
  const refused = await submit('2~311~dv.89', 'unlisted')
  assert.equal(refused.status, 422)
  assert.deepEqual(Object.keys(refused.body.errors), ['tcf.addtl_consent'])
})

it('stores a GPP string beside the consent objects, and does not call it ignored', async test => {
  const service = await startTestService(test)
  const gpp = { string: 'DBABLA~BVVqAAAAAABY.QA' }
  const body = samplePageView({ consent: { advertising: 'granted' }, gpp })
  const reply = await service.submit(body)
  assert.equal(reply.status, 202)
  const ignored = reply.body.notices.filter(
    ({ code }: { code: string }) => code === 'member_ignored',
  )
  assert.deepEqual(ignored, [])
  const { event } = (await service.read('view-1')).body
  assert.deepEqual(event.consent.gpp, gpp)
})
