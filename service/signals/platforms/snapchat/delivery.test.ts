import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { it, type TestContext } from 'node:test'
import { SNAPCHAT_CONTRACT } from '@signalbox/graph-simulator/snapchat/contract/snapchat-contract.ts'
import { expireLeases } from '../../../../testing/fixtures/deliveries.ts'
import { samplePageView, samplePurchase } from '../../../../testing/fixtures/sample-events.ts'
import { startTestService, type TestService } from '../../../../testing/fixtures/service.ts'
import { listConversions, scriptPlatformFaults } from '../../../../testing/fixtures/simulator.ts'
import { readStoredText } from '../../../../testing/fixtures/stored-text.ts'
import {
  connectSimulated,
  readOtherDelivery,
  readStatuses,
} from '../../../../testing/fixtures/two-platforms.ts'

const EMAIL = 'Jane.Roe@example.com'
const TOKEN = 'snap-token-4711.abc_def'

/** A service whose tracker sends to Meta and to Snapchat. */
async function startWithSnapchat(
  test: TestContext,
  routing?: Parameters<typeof connectSimulated>[2],
) {
  const service = await startTestService(test)
  const options = { credential: TOKEN, ...routing }
  const { config, destinationId } = await connectSimulated(service, 'snapchat', options)
  return { service, asset: String(config.asset_id), destinationId }
}

const received = ({ simulatorUrl }: TestService) => listConversions(simulatorUrl, 'snapchat')

it('sends a purchase with its click and its browser, and keeps nothing raw', async test => {
  const { service, asset } = await startWithSnapchat(test)
  const { status } = await service.submit(
    samplePurchase({
      event_source: 'https://shop.example/checkout?ScCid=A3f4b5c6-d7e8',
      click_ids: { scid: 'b1e2-browser' },
      user_data: {
        em: EMAIL,
        ph: '+44 844 412 4653',
        zp: 'K1A 0B1',
        country: 'CA',
        client_user_agent: 'B/1',
      },
      value_data: {
        value: '19.90',
        currency: 'EUR',
        order_id: '1001',
        contents: [{ id: 'sku-1', quantity: 2, item_price: 9.95, brand: 'Lux' }],
      },
    }),
  )
  assert.equal(status, 202)
  assert.equal(await service.deliver(), 2)
  const [one] = await received(service)
  assert.ok(one)
  assert.equal(one.account, asset)
  assert.deepEqual(SNAPCHAT_CONTRACT.findProblems('event', one.event), [])
  assert.deepEqual([one.event.event_name, one.event.action_source], ['PURCHASE', 'WEB'])
  assert.deepEqual(one.event.user_data, {
    em: [hash('sha256', EMAIL.toLowerCase())],
    ph: [hash('sha256', '448444124653')],
    zp: [hash('sha256', 'k1a0b1')],
    country: [hash('sha256', 'ca')],
    client_user_agent: 'B/1',
    sc_click_id: 'A3f4b5c6-d7e8',
    sc_cookie1: 'b1e2-browser',
  })
  assert.deepEqual(one.event.custom_data, {
    currency: 'EUR',
    value: 19.9,
    order_id: '1001',
    content_ids: ['sku-1'],
    contents: [{ id: 'sku-1', brand: 'Lux', item_price: '9.95', quantity: '2' }],
  })
  const text = await readStoredText(service.database)
  for (const raw of [EMAIL, EMAIL.toLowerCase(), 'K1A', '448444124653', TOKEN]) {
    assert.ok(!text.includes(raw), raw)
  }
})

it('reaches each platform under its own consent, by any name of Snapchat', async test => {
  const { service } = await startWithSnapchat(test)
  const submit = (event_id: string, refused: Record<string, unknown>) =>
    service.submit(
      samplePurchase({
        event_id,
        user_data: { em: EMAIL },
        consent: { advertising: 'granted', ...refused },
      }),
    )
  await submit('both', {})
  await submit('no-meta', { 'Facebook Pixel': false })
  const names = ['Snap Pixel', 'Snapchat', 'snapchat_pixel', 'Snapchat Ads', 'Snap Inc.', 'snaptr']
  for (const name of names) await submit(name, { [name]: false })
  await service.deliver()
  const ids = (await received(service)).map(({ event_id }) => event_id)
  assert.deepEqual(ids.sort(), ['both', 'no-meta'])
  for (const name of names) {
    assert.equal((await readOtherDelivery(service, name)).status, 'skipped:consent', name)
  }
})

const SKIPPED = 'snapchat skipped:not_selected no_platform_name'

it('sends no event without a name of Snapchat, unless the destination names one', async test => {
  const routing = { event_names: { Lead: 'SIGN_UP', Quote: 'CUSTOM_EVENT_1' } }
  const { service } = await startWithSnapchat(test, { routing })
  for (const event_name of ['Lead', 'Quote', 'Contact', 'Scroll']) {
    await service.submit(
      samplePageView({ event_id: event_name, event_name, user_data: { em: EMAIL } }),
    )
  }
  await service.submit(samplePurchase({ event_id: 'Purchase', user_data: { em: EMAIL } }))
  await service.submit(
    samplePurchase({
      event_id: 'Refund',
      event_name: 'Refund',
      user_data: { em: EMAIL },
      value_data: { value: '5', currency: 'EUR', order_id: '1001' },
    }),
  )
  await service.deliver()
  const sent = (await received(service)).map(({ event }) => event.event_name)
  assert.deepEqual(sent.sort(), ['CUSTOM_EVENT_1', 'PURCHASE', 'SIGN_UP'])
  for (const id of ['Contact', 'Scroll', 'Refund']) {
    assert.deepEqual((await readStatuses(service, id))[1], SKIPPED, id)
  }
})

it('finds the bad event of a refused request, and stores nothing that Snapchat repeats', async test => {
  const { service } = await startWithSnapchat(test)
  for (const event_id of ['a', 'b', 'c', 'd']) {
    await service.submit(samplePurchase({ event_id, user_data: { em: EMAIL } }))
  }
  const digest = hash('sha256', EMAIL.toLowerCase())
  const message = `Unhashed PII: ${digest} at /v3/x/events?access_token=${TOKEN}`
  await scriptPlatformFaults('snapchat')(service.simulatorUrl, [
    { match: { event_id: 'c' }, respond: { status: 400, message } },
  ])
  await service.deliver()
  const statuses = await Promise.all(
    ['a', 'b', 'c', 'd'].map(async id => (await readOtherDelivery(service, id)).status),
  )
  assert.deepEqual(statuses, ['accepted', 'accepted', 'failed:permanent', 'accepted'])
  assert.deepEqual((await received(service)).map(({ event_id }) => event_id).sort(), [
    'a',
    'b',
    'd',
  ])
  const shown = JSON.stringify(await readOtherDelivery(service, 'c'))
  assert.match(shown, /Unhashed PII/)
  const stored = await readStoredText(service.database)
  for (const secret of [digest, TOKEN]) assert.ok(!shown.includes(secret), secret)
  assert.ok(!stored.includes(TOKEN))
  assert.ok(!service.logged().includes(TOKEN))
})

it('counts an event once whose answer was lost, or whose worker died', async test => {
  const { service } = await startWithSnapchat(test)
  const fault = { times: 1, abort: 'after_store' }
  await scriptPlatformFaults('snapchat')(service.simulatorUrl, [fault])
  await service.submit(samplePurchase({ event_id: 'lost-answer', user_data: { em: EMAIL } }))
  await service.deliver()
  assert.equal((await readOtherDelivery(service, 'lost-answer')).status, 'retrying')
  await service.submit(samplePurchase({ event_id: 'dead-worker', user_data: { em: EMAIL } }))
  await service.database.pool.query(
    `update delivery_queue set status = 'sent', status_reason = 'handed_over', attempt_count = 1,
       leased_until = now() + interval '1 minute'
     where event_id = 'dead-worker' and destination_id <> $1`,
    [service.tracker.destinationId],
  )
  await expireLeases(service.database)
  service.clock.advance(60)
  await service.deliver()
  for (const id of ['lost-answer', 'dead-worker']) {
    assert.equal((await readOtherDelivery(service, id)).status, 'accepted', id)
  }
  const counted = (await received(service)).filter(({ deduplicated }) => !deduplicated)
  assert.deepEqual(counted.map(({ event_id }) => event_id).sort(), ['dead-worker', 'lost-answer'])
})

it('sends the digests of a caller, and an erasure leaves nothing', async test => {
  const { service } = await startWithSnapchat(test)
  const em = hash('sha256', EMAIL.toLowerCase())
  await service.submit(
    samplePurchase({
      user_data: { em, external_id: hash('sha256', 'customer-1') },
      click_ids: { ScCid: 'click-of-jane' },
    }),
  )
  await service.deliver()
  const [one] = await received(service)
  assert.deepEqual(one?.event.user_data.em, [em])
  assert.equal(one?.event.user_data.external_id, hash('sha256', 'customer-1'))
  const before = await readStoredText(service.database)
  assert.ok(before.includes('click-of-jane'))
  const { status } = await service.request('DELETE', '/api/v1/user-data', {
    body: { identifier_hash: em },
  })
  assert.equal(status, 200)
  const text = await readStoredText(service.database)
  assert.ok(!text.includes('click-of-jane'))
})
