import assert from 'node:assert/strict'
import { it, type TestContext } from 'node:test'
import { openDashboardWorkspace } from '../../testing/fixtures/dashboard.ts'
import {
  SHOP_ORIGIN,
  samplePageView,
  samplePurchase,
} from '../../testing/fixtures/sample-events.ts'
import { startTestService } from '../../testing/fixtures/service.ts'
import { scriptFaults } from '../../testing/fixtures/simulator.ts'

async function openDetails(test: TestContext) {
  const service = await startTestService(test)
  const { owner, path } = await openDashboardWorkspace(service)
  const details = (id: string, query = '') =>
    owner.client.call('GET', `${path}/events/${encodeURIComponent(id)}${query}`)
  return { service, details }
}

it('shows the attempts, the answer of the platform and its trace id', async test => {
  const { service, details } = await openDetails(test)
  await scriptFaults(service.simulatorUrl, [
    { respond: { status: 400, code: 100, subcode: 2_804_048 } },
  ])
  await service.submit(samplePurchase())
  await service.deliver()
  const { status, body } = await details('order-1001')
  assert.equal(status, 200)
  const [delivery] = body.deliveries
  assert.match(body.summary, /^The platform rejected the event permanently/)
  assert.equal(body.summary, delivery.explanation)
  assert.deepEqual([delivery.status, delivery.can_replay], ['failed:permanent', true])
  assert.match(delivery.replay_advice, /^A replay sends what was refused: .+ new event ID\.$/)
  assert.equal(delivery.last_error.subcode, 2_804_048)
  const last = delivery.attempts.at(-1)
  assert.deepEqual([last.outcome, last.http_status], ['permanent', 400])
  assert.equal(last.trace_id, delivery.platform_trace_id)
  assert.equal(last.answer.error.code, 100)
})

it('names the keys of identity and never their values', async test => {
  const { service, details } = await openDetails(test)
  const source = 'https://shop.example/checkout?fbclid=Iw-the-click'
  await service.submit(
    samplePurchase({
      event_source: source,
      user_data: { em: 'jane@example.com', client_user_agent: 'Mozilla/5.0', ph: '12' },
      click_ids: { fbclid: 'Iw-the-click' },
      basket_color: 'red',
    }),
  )
  const { body } = await details('order-1001')
  assert.deepEqual(body.identity, {
    state: 'stored',
    keys: ['em', 'client_user_agent'],
    click_ids: ['fbclid', 'fbc'],
    session_click_ids: ['fbclid', 'fbc'],
    has_visitor_id: true,
  })
  assert.deepEqual(
    body.notes.dropped.map(({ field }: { field: string }) => field),
    ['user_data.ph'],
  )
  assert.deepEqual(body.notes.ignored, ['basket_color'])
  assert.equal(body.event_source, 'https://shop.example/checkout')
  const text = JSON.stringify(body)
  for (const value of ['Iw-the-click', 'Mozilla', 'visitor-1', 'jane', '8c87b489']) {
    assert.equal(text.includes(value), false, value)
  }
})

it('marks the consent signal that decided', async test => {
  const { service, details } = await openDetails(test)
  await service.submit(
    samplePurchase({
      event_id: 'granted',
      consent_mode: { ad_storage: 'granted', ad_user_data: 'granted' },
      consent: { analytics: 'granted' },
    }),
  )
  const granted = (await details('granted')).body.consent
  assert.deepEqual([granted.outcome, granted.reason], ['granted', 'granted_by_consent_mode'])
  const decided = granted.signals.filter((signal: { has_decided: boolean }) => signal.has_decided)
  assert.deepEqual(
    decided.map(({ source, state }: Record<string, string>) => [source, state]),
    [['consent_mode', 'granted']],
  )

  await service.submit(
    samplePurchase({ event_id: 'unreadable', consent: { ad_user_data: 'perhaps' } }),
  )
  const { body } = await details('unreadable')
  assert.equal(body.consent.outcome, 'withheld')
  assert.deepEqual(body.consent.signals[0], {
    source: 'consent',
    state: 'unknown',
    reason: 'words_unreadable',
    field: 'consent.ad_user_data',
    captured_at: null,
    has_decided: true,
  })
  assert.match(body.summary, /consent signals came with the event, but none of them could be read/)
})

it('explains events that no platform gets', async test => {
  const { service, details } = await openDetails(test)
  for (const [event_name, sentence] of [
    ['signal_verification', /^A verification event/],
    ['consent_withdrawal', /^The visitor withdrew consent/],
  ] as const) {
    const { status } = await service.submit({
      event_id: event_name,
      event_name,
      consent_basis: 'legitimate_interest',
      visitor_id: 'visitor-1',
    })
    assert.equal(status, 202)
    const { body } = await details(event_name)
    assert.match(body.summary, sentence)
    assert.equal(body.identity.state, 'not_stored')
    assert.deepEqual(body.consent.signals, [])
    assert.deepEqual(body.deliveries, [])
  }
})

it('shows the lineage, and the space in which an ID was sent', async test => {
  const { service, details } = await openDetails(test)
  await service.submit(samplePurchase())
  await service.submit(
    samplePurchase({ event_id: 'refund/1', event_name: 'Refund', parent_event_id: 'order-1001' }),
  )
  await service.request('POST', '/api/v1/events', {
    secret: service.tracker.publishableKey,
    headers: { origin: SHOP_ORIGIN },
    body: samplePageView({ event_id: 'order-1001' }),
  })
  const parent = (await details('order-1001')).body
  assert.deepEqual([parent.space, parent.is_in_both_spaces], ['secret', true])
  assert.deepEqual(
    parent.children.map(({ id }: { id: string }) => id),
    ['refund/1'],
  )
  const child = (await details('refund/1')).body
  assert.equal(child.parent.event_name, 'Purchase')
  assert.equal(child.is_in_both_spaces, false)
  const page = (await details('order-1001', '?space=publishable')).body
  assert.deepEqual([page.space, page.event_name], ['publishable', 'PageView'])
})

it('404 for an unknown event and 422 for an unknown space', async test => {
  const { details } = await openDetails(test)
  assert.equal((await details('missing')).status, 404)
  assert.equal((await details('a\0b')).status, 404)
  const { status, body } = await details('missing', '?space=both')
  assert.deepEqual([status, Object.keys(body.errors)], [422, ['space']])
})

it('rebuilds the request of a delivery with shortened identifiers until the identity expires', async test => {
  const { service, details } = await openDetails(test)
  await service.submit(samplePurchase())
  const waiting = (await details('order-1001')).body.deliveries[0].request
  assert.deepEqual(waiting, { body: null, sentence: 'No request has carried the event yet.' })
  await service.deliver()
  const { body } = await details('order-1001')
  const { request } = body.deliveries[0]
  assert.match(request.sentence, /^Rebuilt from the stored event/)
  const [sent] = JSON.parse(request.body).data
  assert.deepEqual(
    [sent.event_name, sent.event_id, sent.custom_data.value],
    ['Purchase', 'order-1001', 19.95],
  )
  const email = [sent.user_data.em].flat()[0]
  assert.match(email, /^[0-9a-f]{8}…$/)
  assert.doesNotMatch(JSON.stringify(body), /[0-9a-f]{64}/)
  await service.database.pool.query('delete from event_payloads')
  const expired = (await details('order-1001')).body.deliveries[0].request
  assert.equal(expired.body, null)
  assert.match(expired.sentence, /^The identity was deleted or never stored/)
})
