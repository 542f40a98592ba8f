import assert from 'node:assert/strict'
import { it } from 'node:test'
import { samplePurchase } from '../../../testing/fixtures/sample-events.ts'
import { startTestService, type TestService } from '../../../testing/fixtures/service.ts'
import { buildTcString } from '../../../testing/fixtures/tc-string.ts'

const CAPTURED = { captured_at: '2026-11-21T11:00:00Z' }
const GRANTED = { ad_user_data: 'granted', ...CAPTURED }
const MODE_GRANTED = { ad_storage: 'granted', ad_user_data: 'granted' }
const TC_GRANTED = buildTcString()
const TC_DENIED = buildTcString({ purposes: [1, 7] })

it('returns 422 naming the field that denies and stores nothing', async test => {
  const service = await startTestService(test)
  for (const [field, signals] of [
    ['consent.ad_user_data', { consent: { ad_user_data: 'denied', ...CAPTURED } }],
    ['consent.marketing', { consent: { ad_user_data: 'granted', marketing: false } }],
    ['consent.purposes.advertising', { consent: { purposes: { advertising: 'no' } } }],
    ['consent.gpc', { consent: { ...GRANTED, gpc: true } }],
    ['consent_mode.ad_storage', { consent_mode: { ...MODE_GRANTED, ad_storage: 'denied' } }],
    ['consent_mode.ad_personalization', { consent_mode: { ad_personalization: 'denied' } }],
    ['tcf.string', { tcf: { string: TC_DENIED } }],
    ['tcf.string', { consent: GRANTED, consent_mode: MODE_GRANTED, tcf: { string: TC_DENIED } }],
    ['consent.sec-gpc', { consent: { ...GRANTED, 'sec-gpc': '1' } }],
    ['consent_mode.gpc', { consent_mode: { ...MODE_GRANTED, gpc: true } }],
    ['Sec-GPC', { consent: GRANTED, 'Sec-GPC': '1' }],
    ['consent.facebook', { consent: { ...GRANTED, facebook: false } }],
    ['consent.us_privacy', { consent: { us_privacy: '1YYN' } }],
    ['consent.gpp', { consent: { ...GRANTED, gpp: 'DBABLA~BVVVVVVVVWA' } }],
  ] as const) {
    const reply = await service.submit(samplePurchase({ consent: undefined, ...signals }))
    const sentence = `The ${field} field denies: use consent only with granted downstream advertising state.`
    assert.equal(reply.status, 422, field)
    assert.deepEqual(reply.body, { message: sentence, errors: { [field]: [sentence] } })
  }
  assert.equal((await service.read('order-1001')).status, 404)
})

it('returns 202 and delivers when any signal grants, and shows which signal', async test => {
  const service = await startTestService(test)
  for (const [reason, signals] of [
    ['granted_by_consent', { consent: GRANTED }],
    ['granted_by_consent_mode', { consent_mode: MODE_GRANTED }],
    ['granted_by_tcf', { tcf: { string: TC_GRANTED } }],
    ['granted_by_tcf', { consent: { ad_user_data: 'maybe' }, tcf: { string: TC_GRANTED } }],
    ['attested_by_basis', {}],
    ['attested_by_basis', { consent: CAPTURED }],
    ['attested_by_basis', { consent: { method: 'banner', version: '3', locale: 'de' } }],
  ] as const) {
    const event_id = `${reason}-${JSON.stringify(signals).length}`
    const reply = await service.submit(samplePurchase({ event_id, consent: undefined, ...signals }))
    assert.equal(reply.status, 202, reason)
    const { event, deliveries } = (await service.read(event_id)).body
    assert.equal(event.consent.decision.outcome, 'granted')
    assert.equal(event.consent.decision.reason, reason)
    assert.equal(event.consent.decision.rules_version, event.consent_normalization_version)
    assert.equal(event.measurement_class, 'advertising')
    assert.equal(event.attribution_join, 'allowed')
    assert.equal(deliveries[0].status, 'queued')
  }
})

it('returns 202 and skips deliveries when no signal grants', async test => {
  const service = await startTestService(test)
  for (const [name, signals] of [
    ['unknown-word', { consent: { ad_user_data: 'vielleicht' } }],
    ['unset', { consent: { ad_user_data: null } }],
    ['undecodable', { tcf: { string: 'garbage' } }],
    ['old-mode', { consent_mode: { ad_storage: 'granted' } }],
    ['analytics', { consent: { analytics: 'granted' } }],
    ['groups', { consent: { groups: 'C0001:1,C0002:0' } }],
    ['gpp', { consent: { gpp: 'DBABLA~BVVqAAAAAABY.QA' } }],
    ['applies', { tcf: { gdprApplies: true } }],
    ['expired', { consent: { ad_user_data: 'granted', captured_at: '2025-10-21T11:59:59Z' } }],
  ] as const) {
    const body = samplePurchase({ event_id: name, consent: undefined, ...signals })
    assert.equal((await service.submit(body)).status, 202, name)
    await assertWithheld(service, name)
  }
  assert.equal(await service.deliver(), 0)
  assert.equal((await service.received()).count, 0)
})

it('returns 202 and stores the consent objects without identifiers, beside the decision', async test => {
  const service = await startTestService(test)
  const consent = { ...GRANTED, method: 'banner', mail: 'jane@example.com', analytics: 'denied' }
  const tcf = { string: TC_GRANTED, captured_at: '2026-11-20T08:00:00Z' }
  await service.submit(samplePurchase({ consent, consent_mode: MODE_GRANTED, tcf }))
  const { event, deliveries } = (await service.read('order-1001')).body
  assert.deepEqual(event.consent, {
    ...GRANTED,
    method: 'banner',
    analytics: 'denied',
    consent_mode: MODE_GRANTED,
    tcf,
    decision: {
      outcome: 'granted',
      reason: 'granted_by_consent',
      granted_by: ['consent', 'tcf', 'consent_mode'],
      denied_by: [],
      inputs: {
        consent: reading('consent.ad_user_data', 'words_granted', '2026-11-21T11:00:00.000Z'),
        tcf: reading('tcf.string', 'tc_ad_purposes_granted', '2026-11-20T08:00:00.000Z'),
        consent_mode: reading(
          'consent_mode.ad_user_data',
          'words_granted',
          '2026-11-21T11:00:00.000Z',
        ),
      },
      rules_version: '10',
      captured_at: '2026-11-21T11:00:00.000Z',
    },
  })
  assert.match(deliveries[0].explanation, / Dropped on receipt: consent\.mail \(/)
})

it('stores an event that words refuse, skips its deliveries and names the member', async test => {
  const service = await startTestService(test)
  const consent = { ...GRANTED, allow_ad_tracking: 'no', 'jane doe marketing': false }
  const reply = await service.submit(samplePurchase({ consent, consent_mode: MODE_GRANTED }))
  assert.equal(reply.status, 202)
  const unreadable = reply.body.notices.filter(
    ({ code }: { code: string }) => code === 'consent_unreadable',
  )
  assert.deepEqual(
    unreadable.map(({ field }: { field: string }) => field),
    ['consent.allow_ad_tracking', 'consent.*'],
  )
  assert.match(unreadable[0].message, /refuses advertising by its words/)
  const { event, deliveries } = (await service.read('order-1001')).body
  const { outcome, reason, inputs, possible_refusals } = event.consent.decision
  assert.deepEqual([outcome, reason], ['withheld', 'possible_refusal'])
  assert.equal(inputs.consent.why, 'possible_refusal')
  assert.deepEqual(possible_refusals, ['consent.allow_ad_tracking', 'consent.*'])
  assert.equal(deliveries[0].status, 'skipped:consent')
  assert.match(deliveries[0].explanation, /consent\.allow_ad_tracking, consent\.\* refuses adv/)
  assert.doesNotMatch(JSON.stringify(event), /jane/)
})

function reading(field: string, why: string, captured_at: string) {
  return { state: 'granted', why, field, captured_at }
}

async function assertWithheld(service: TestService, eventId: string): Promise<void> {
  const { event, deliveries } = (await service.read(eventId)).body
  assert.equal(event.consent.decision.outcome, 'withheld', eventId)
  assert.equal(event.consent.decision.reason, 'no_signal')
  assert.equal(event.measurement_class, 'ledger_only')
  assert.equal(event.attribution_join, 'none')
  assert.equal(event.enforcement_scope, 'event')
  assert.equal(event.session, null)
  assert.equal(deliveries.length, 1)
  assert.equal(deliveries[0].status, 'skipped:consent')
  assert.equal(deliveries[0].next_attempt_at, null)
  assert.match(deliveries[0].explanation, /^Not sent: consent signals came with the event, but/)
}
