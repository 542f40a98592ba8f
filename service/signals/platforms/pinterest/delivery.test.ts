import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { it, type TestContext } from 'node:test'
import { findContractProblems } from '@signalbox/graph-simulator/pinterest/contract/pinterest-contract.ts'
import { expireLeases } from '../../../../testing/fixtures/deliveries.ts'
import { samplePurchase } from '../../../../testing/fixtures/sample-events.ts'
import { startTestService } from '../../../../testing/fixtures/service.ts'
import { listConversions, scriptPlatformFaults } from '../../../../testing/fixtures/simulator.ts'
import { readStoredText } from '../../../../testing/fixtures/stored-text.ts'
import { connectSimulated, readOtherDelivery } from '../../../../testing/fixtures/two-platforms.ts'

const EMAIL = 'Jane.Roe@example.com'

/** A service whose tracker sends to Meta and to Pinterest. */
async function startWithPinterest(test: TestContext) {
  const service = await startTestService(test)
  const { config } = await connectSimulated(service, 'pinterest')
  return { service, account: String(config.ad_account_id) }
}

function offlinePurchase(event_id: string) {
  return samplePurchase({
    event_id,
    action_source: 'physical_store',
    event_source: undefined,
    user_data: { em: EMAIL },
    value_data: { value: '5', currency: 'EUR', order_id: event_id },
  })
}

it('sends a purchase as a checkout, with its click and nothing raw', async test => {
  const { service, account } = await startWithPinterest(test)
  const { status } = await service.submit(
    samplePurchase({
      event_source: 'https://shop.example/?epik=dj0yJnU9b2JDcFFHekV4',
      user_data: {
        em: EMAIL,
        zp: 'K1A 0B1',
        st: 'Ontario',
        country: 'CA',
        client_user_agent: 'B/1',
      },
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
  const [received] = await listConversions(service.simulatorUrl, 'pinterest')
  assert.ok(received)
  assert.equal(received.account, account)
  const { event } = received
  assert.deepEqual(findContractProblems('event', event), [])
  assert.deepEqual(
    [event.event_name, event.action_source, event.opt_out],
    ['checkout', 'web', false],
  )
  assert.deepEqual(event.user_data, {
    em: [hash('sha256', EMAIL.toLowerCase())],
    st: [hash('sha256', 'on')],
    country: [hash('sha256', 'ca')],
    client_user_agent: 'B/1',
    click_id: 'dj0yJnU9b2JDcFFHekV4',
  })
  assert.deepEqual(event.custom_data, {
    value: '19.90',
    currency: 'EUR',
    order_id: '1001',
    content_ids: ['sku-1'],
    contents: [{ id: 'sku-1', item_name: 'Lamp', item_price: '9.95', quantity: 2 }],
  })
  const text = await readStoredText(service.database)
  for (const raw of [EMAIL, EMAIL.toLowerCase(), 'K1A']) assert.ok(!text.includes(raw), raw)
})

it('reaches each platform under its own consent', async test => {
  const { service } = await startWithPinterest(test)
  const submit = (event_id: string, consent: Record<string, unknown>) =>
    service.submit(
      samplePurchase({
        event_id,
        user_data: { em: EMAIL },
        consent: { advertising: 'granted', ...consent },
      }),
    )
  await submit('both', {})
  await submit('no-pinterest', { 'Pinterest Tag': false })
  await submit('no-meta', { 'Facebook Pixel': false })
  await service.deliver()
  const received = await listConversions(service.simulatorUrl, 'pinterest')
  assert.deepEqual(received.map(({ event_id }) => event_id).sort(), ['both', 'no-meta'])
  assert.equal((await readOtherDelivery(service, 'no-pinterest')).status, 'skipped:consent')
})

it('limits the processing of an event that names a restriction', async test => {
  const { service } = await startWithPinterest(test)
  await service.submit(
    samplePurchase({
      user_data: { em: EMAIL },
      opt_out: true,
      data_processing_options: ['LDU'],
      data_processing_options_country: 1,
      data_processing_options_state: 1_000,
    }),
  )
  await service.deliver()
  const [received] = await listConversions(service.simulatorUrl, 'pinterest')
  assert.equal(received?.event.opt_out, true)
  assert.equal(received?.event.custom_data.opt_out_type, 'LDP')
})

it('never sends offline events again after a request without results', async test => {
  const { service } = await startWithPinterest(test)
  for (const event_id of ['a', 'b', 'c']) await service.submit(offlinePurchase(event_id))
  await scriptPlatformFaults('pinterest')(service.simulatorUrl, [{ times: 1, omit_results: true }])
  await service.deliver()
  for (const event_id of ['a', 'b', 'c']) {
    const { status, explanation } = await readOtherDelivery(service, event_id)
    assert.equal(status, 'failed:unknown')
    assert.match(explanation, /would count a copy/)
  }
  service.clock.advance(3_600)
  await service.deliver()
  const received = await listConversions(service.simulatorUrl, 'pinterest')
  assert.deepEqual(received.map(({ event_id }) => event_id).sort(), ['a', 'b', 'c'])
})

it('finds the failed event of a request without results by halving, for web events', async test => {
  const { service } = await startWithPinterest(test)
  for (const event_id of ['a', 'b', 'c', 'd']) {
    await service.submit(samplePurchase({ event_id, user_data: { em: EMAIL } }))
  }
  await scriptPlatformFaults('pinterest')(service.simulatorUrl, [
    { match: { event_id: 'c' }, omit_results: true },
  ])
  await service.deliver()
  const statuses = await Promise.all(
    ['a', 'b', 'c', 'd'].map(async id => (await readOtherDelivery(service, id)).status),
  )
  assert.deepEqual(statuses, ['accepted', 'accepted', 'failed:permanent', 'accepted'])
  const received = await listConversions(service.simulatorUrl, 'pinterest')
  assert.equal(received.filter(({ deduplicated }) => !deduplicated).length, 4)
})

it('sends an offline event once, even if the answer is lost or the worker dies', async test => {
  const { service } = await startWithPinterest(test)
  await scriptPlatformFaults('pinterest')(service.simulatorUrl, [
    { times: 1, abort: 'after_store' },
  ])
  await service.submit(offlinePurchase('lost-answer'))
  await service.deliver()
  assert.equal((await readOtherDelivery(service, 'lost-answer')).status, 'failed:unknown')

  await service.submit(offlinePurchase('dead-worker'))
  await service.database.pool.query(
    `update delivery_queue set status = 'sent', status_reason = 'handed_over', attempt_count = 1,
       leased_until = now() + interval '1 minute'
     where event_id = 'dead-worker' and destination_id <> $1`,
    [service.tracker.destinationId],
  )
  await expireLeases(service.database)
  await service.deliver()
  assert.equal((await readOtherDelivery(service, 'dead-worker')).status, 'failed:unknown')
  service.clock.advance(3_600)
  await service.deliver()
  const received = await listConversions(service.simulatorUrl, 'pinterest')
  assert.deepEqual(
    received.map(({ event_id }) => event_id),
    ['lost-answer'],
  )
})

it('retries a web event whose answer was lost, which counts once', async test => {
  const { service } = await startWithPinterest(test)
  await scriptPlatformFaults('pinterest')(service.simulatorUrl, [
    { times: 1, abort: 'after_store' },
  ])
  await service.submit(samplePurchase({ user_data: { em: EMAIL } }))
  await service.deliver()
  assert.equal((await readOtherDelivery(service, 'order-1001')).status, 'retrying')
  service.clock.advance(60)
  await service.deliver()
  assert.equal((await readOtherDelivery(service, 'order-1001')).status, 'accepted')
  const received = await listConversions(service.simulatorUrl, 'pinterest')
  assert.deepEqual(
    received.map(({ deduplicated }) => deduplicated),
    [false, true],
  )
})
