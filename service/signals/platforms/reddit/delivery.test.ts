import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { it, type TestContext } from 'node:test'
import { samplePurchase } from '../../../../testing/fixtures/sample-events.ts'
import { startTestService, type TestService } from '../../../../testing/fixtures/service.ts'
import { listConversions, scriptPlatformFaults } from '../../../../testing/fixtures/simulator.ts'
import { readStoredText } from '../../../../testing/fixtures/stored-text.ts'
import { connectSimulated, readStatuses } from '../../../../testing/fixtures/two-platforms.ts'

const EMAIL = 'Jane.Roe+Shop@example.com'

/** A service whose tracker sends to Meta and to Reddit. */
async function startWithReddit(test: TestContext) {
  const service = await startTestService(test)
  const { destinationId, config } = await connectSimulated(service, 'reddit')
  return { service, destinationId, pixel: String(config.pixel_id) }
}

const received = ({ simulatorUrl }: TestService) => listConversions(simulatorUrl, 'reddit')

it('sends a purchase with its click and browser, and stores nothing raw', async test => {
  const { service, pixel } = await startWithReddit(test)
  const { status } = await service.submit(
    samplePurchase({
      event_source: 'https://shop.example/?rdt_cid=0123456789abcdef',
      click_ids: { _rdt_uuid: '1700000000000.d9bff6c2-1b2a' },
      user_data: { em: EMAIL, ph: '+1 650 555 1212', fn: 'Jane', client_user_agent: 'B/1' },
      value_data: {
        value: '19.90',
        currency: 'EUR',
        order_id: '1001',
        contents: [{ id: 'sku-1', quantity: 2, item_price: 9.95, title: 'Lamp' }],
      },
    }),
  )
  assert.equal(status, 202)
  assert.equal(await service.deliver(), 2)
  const [conversion] = await received(service)
  assert.ok(conversion)
  assert.equal(conversion.account, pixel)
  const { event } = conversion
  assert.deepEqual(event.type, { tracking_type: 'PURCHASE' })
  assert.equal(event.action_source, 'WEBSITE')
  assert.equal(event.click_id, '0123456789abcdef')
  assert.deepEqual(event.user, {
    email: hash('sha256', 'janeroe@example.com'),
    phone_number: hash('sha256', '+16505551212'),
    user_agent: 'B/1',
    uuid: 'd9bff6c2-1b2a',
  })
  assert.deepEqual(event.metadata, {
    conversion_id: 'order-1001',
    value: 19.9,
    currency: 'EUR',
    products: [{ id: 'sku-1', name: 'Lamp', item_price: 9.95, quantity: 2 }],
  })
  const text = (await readStoredText(service.database)).toLowerCase()
  for (const raw of [EMAIL.toLowerCase(), 'janeroe@', '6505551212']) assert.ok(!text.includes(raw))
})

it('reaches each platform under its own consent, by any name of Reddit', async test => {
  const { service } = await startWithReddit(test)
  const submit = (event_id: string, consent: Record<string, unknown>) =>
    service.submit(
      samplePurchase({
        event_id,
        user_data: { em: EMAIL },
        consent: { advertising: 'granted', ...consent },
      }),
    )
  await submit('both', {})
  const refusals = [
    { 'Reddit Pixel': false },
    { reddit: 'denied' },
    { 'Reddit Ads': false },
    { vendors: { disabled: ['reddit'] } },
    { reddit_ads: false },
  ]
  for (const [index, refusal] of refusals.entries()) await submit(`no-${index}`, refusal)
  await submit('no-meta', { 'Facebook Pixel': false })
  await service.deliver()
  const ids = (await received(service)).map(({ event_id }) => event_id)
  assert.deepEqual(ids.sort(), ['both', 'no-meta'])
  for (const index of refusals.keys()) {
    assert.deepEqual(await readStatuses(service, `no-${index}`), [
      'meta accepted',
      'reddit skipped:consent consent_refused_for_platform',
    ])
  }
})

it('finds the one bad event of a batch by halving', async test => {
  const { service } = await startWithReddit(test)
  const long = `Quiz-${'x'.repeat(70)}`
  for (const event_id of ['a', 'b', 'c', 'd']) {
    const event_name = event_id === 'c' ? long : 'Purchase'
    const { status } = await service.submit(
      samplePurchase({ event_id, event_name, user_data: { em: EMAIL } }),
    )
    assert.equal(status, 202)
  }
  await service.deliver()
  const statuses = []
  for (const id of ['a', 'b', 'c', 'd']) statuses.push((await readStatuses(service, id))[1])
  assert.match(statuses[2] ?? '', /^reddit failed:permanent/)
  statuses.splice(2, 1)
  assert.deepEqual(statuses, ['reddit accepted', 'reddit accepted', 'reddit accepted'])
  const ids = (await received(service)).map(({ event_id }) => event_id)
  assert.deepEqual(ids.sort(), ['a', 'b', 'd'])
})

it('retries an event whose answer was lost, which counts once', async test => {
  const { service } = await startWithReddit(test)
  await scriptPlatformFaults('reddit')(service.simulatorUrl, [{ times: 1, abort: 'after_store' }])
  await service.submit(samplePurchase({ user_data: { em: EMAIL } }))
  await service.deliver()
  service.clock.advance(60)
  await service.deliver()
  assert.equal((await readStatuses(service, 'order-1001'))[1], 'reddit accepted')
  const copies = (await received(service)).map(({ deduplicated }) => deduplicated)
  assert.deepEqual(copies, [false, true])
})

it('sends no refund, and says why', async test => {
  const { service } = await startWithReddit(test)
  await service.submit(samplePurchase({ user_data: { em: EMAIL } }))
  const { status } = await service.submit(
    samplePurchase({
      event_id: 'refund-1',
      event_name: 'Refund',
      user_data: { em: EMAIL },
      value_data: { value: '19.90', currency: 'EUR', order_id: '1001' },
    }),
  )
  assert.equal(status, 202)
  await service.deliver()
  const [, statusOfReddit = ''] = await readStatuses(service, 'refund-1')
  assert.doesNotMatch(statusOfReddit, /accepted/)
  assert.deepEqual(
    (await received(service)).map(({ event_id }) => event_id),
    ['order-1001'],
  )
})

it('marks the events of a destination in test mode', async test => {
  const { service, destinationId } = await startWithReddit(test)
  const path = `/api/v1/destinations/${destinationId}/test-mode`
  const { status } = await service.request('PATCH', path, { body: { enabled: true } })
  assert.equal(status, 200)
  await service.submit(samplePurchase({ user_data: { em: EMAIL } }))
  await service.deliver()
  assert.deepEqual(
    (await received(service)).map(one => one.test),
    [true],
  )
})

it('keeps no digest of an erased person', async test => {
  const { service } = await startWithReddit(test)
  await service.submit(samplePurchase({ user_data: { em: EMAIL } }))
  const digest = Buffer.from(hash('sha256', 'janeroe@example.com'), 'hex').toString('base64url')
  assert.ok((await readStoredText(service.database)).includes(digest))
  const { status } = await service.request('DELETE', '/api/v1/user-data', {
    body: { identifier_hash: hash('sha256', EMAIL.toLowerCase()) },
  })
  assert.equal(status, 200)
  assert.ok(!(await readStoredText(service.database)).includes(digest))
  await service.deliver()
  assert.deepEqual(await received(service), [])
})
