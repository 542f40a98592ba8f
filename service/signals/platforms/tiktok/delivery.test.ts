import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { it, type TestContext } from 'node:test'
import { samplePurchase } from '../../../../testing/fixtures/sample-events.ts'
import { startTestService, type TestService } from '../../../../testing/fixtures/service.ts'
import { listConversions, scriptPlatformFaults } from '../../../../testing/fixtures/simulator.ts'
import { readStoredText } from '../../../../testing/fixtures/stored-text.ts'
import { connectSimulated, readOtherDelivery } from '../../../../testing/fixtures/two-platforms.ts'

const EMAIL = 'Jane.Roe@example.com'
const PHONE = '+86 138 0013 8000'

/** A service whose tracker sends to Meta and to TikTok. */
async function startWithTiktok(test: TestContext) {
  const service = await startTestService(test)
  const { config } = await connectSimulated(service, 'tiktok')
  const list = () => listConversions(service.simulatorUrl, 'tiktok')
  return { service, config, list }
}

function submit(service: TestService, event_id: string, changes: Record<string, unknown> = {}) {
  return service.submit(samplePurchase({ event_id, user_data: { em: EMAIL }, ...changes }))
}

it('sends a purchase with its click and nothing raw', async test => {
  const { service, config, list } = await startWithTiktok(test)
  const { status } = await submit(service, 'order-1', {
    event_source: 'https://shop.example/?ttclid=E.C.P.CjD-x_1',
    click_ids: { _ttp: 'browser-4711-ttp' },
    user_data: { em: EMAIL, ph: PHONE, ct: 'Shenzhen', external_id: 'User-7B' },
    value_data: {
      value: '19.90',
      currency: 'EUR',
      order_id: '1001',
      contents: [{ id: 'sku-1', quantity: 2, item_price: 9.95, title: 'Lamp' }],
    },
  })
  assert.equal(status, 202)
  assert.equal(await service.deliver(), 2)
  const [received] = await list()
  assert.ok(received)
  assert.equal(received.account, config.pixel_code)
  assert.deepEqual(received.event.user, {
    email: [hash('sha256', EMAIL.toLowerCase())],
    phone: [hash('sha256', '13800138000')],
    external_id: hash('sha256', 'User-7B'),
    ttclid: 'E.C.P.CjD-x_1',
    ttp: 'browser-4711-ttp',
  })
  assert.deepEqual([received.event.event, received.event.properties.value], ['Purchase', 19.9])
  const text = await readStoredText(service.database)
  for (const raw of [EMAIL, EMAIL.toLowerCase(), '13800138000', 'Shenzhen', 'User-7B']) {
    assert.ok(!text.includes(raw), raw)
  }
})

it('reaches each platform under its own consent', async test => {
  const { service, list } = await startWithTiktok(test)
  const names = ['TikTok', 'TikTok Pixel', 'TikTok Ads', 'tiktok_pixel', 'TikTok for Business']
  for (const [index, name] of names.entries()) {
    const consent = { advertising: 'granted', [name]: false }
    await submit(service, `refused-${index}`, { consent })
  }
  const vendors = { advertising: 'granted', vendors: { 'TikTok Inc.': false } }
  await submit(service, 'refused-vendor', { consent: vendors })
  await submit(service, 'both', { consent: { advertising: 'granted' } })
  await submit(service, 'no-meta', { consent: { advertising: 'granted', 'Facebook Pixel': false } })
  await service.deliver()
  assert.deepEqual((await list()).map(({ event_id }) => event_id).sort(), ['both', 'no-meta'])
  for (const id of ['refused-0', 'refused-vendor']) {
    assert.equal((await readOtherDelivery(service, id)).status, 'skipped:consent')
  }
})

it('sends web and offline events of one batch in a request each', async test => {
  const { service, config, list } = await startWithTiktok(test)
  const inStore = { action_source: 'physical_store', event_source: undefined }
  await submit(service, 'web-1')
  await submit(service, 'store-1', inStore)
  await submit(service, 'web-2')
  await submit(service, 'store-2', inStore)
  await service.deliver()
  const accounts = (await list()).map(({ event_id, account }) => [event_id, account]).sort()
  assert.deepEqual(accounts, [
    ['store-1', config.offline_event_set_id],
    ['store-2', config.offline_event_set_id],
    ['web-1', config.pixel_code],
    ['web-2', config.pixel_code],
  ])
  for (const id of ['web-1', 'store-2']) {
    assert.equal((await readOtherDelivery(service, id)).status, 'accepted')
  }
})

it('finds the one bad event of a batch, and stores no message of TikTok', async test => {
  const { service, list } = await startWithTiktok(test)
  for (const event_id of ['a', 'b', 'c', 'd']) await submit(service, event_id)
  const message = `Batch.0.user.email: Not a valid string: ${EMAIL}`
  await scriptPlatformFaults('tiktok')(service.simulatorUrl, [
    { match: { event_id: 'c' }, respond: { status: 200, code: 40_002, message } },
  ])
  await service.deliver()
  const statuses = await Promise.all(
    ['a', 'b', 'c', 'd'].map(async id => (await readOtherDelivery(service, id)).status),
  )
  assert.deepEqual(statuses, ['accepted', 'accepted', 'failed:permanent', 'accepted'])
  assert.equal((await list()).length, 3)
  assert.ok(!(await readStoredText(service.database)).includes(EMAIL))
})

it('retries an event whose answer was lost, which counts once', async test => {
  const { service, list } = await startWithTiktok(test)
  await scriptPlatformFaults('tiktok')(service.simulatorUrl, [{ times: 1, abort: 'after_store' }])
  await submit(service, 'order-1')
  await service.deliver()
  assert.equal((await readOtherDelivery(service, 'order-1')).status, 'retrying')
  service.clock.advance(60)
  await service.deliver()
  assert.equal((await readOtherDelivery(service, 'order-1')).status, 'accepted')
  assert.deepEqual(
    (await list()).map(({ deduplicated }) => deduplicated),
    [false, true],
  )
})

it('sends no refund and no opt-out that TikTok could not follow', async test => {
  const { service, list } = await startWithTiktok(test)
  await submit(service, 'refund-1', {
    event_name: 'Refund',
    value_data: { value: '5', currency: 'EUR', order_id: '1001' },
  })
  await submit(service, 'opted-out', { opt_out: true })
  await service.deliver()
  assert.equal((await readOtherDelivery(service, 'refund-1')).status, 'failed:permanent')
  const optedOut = await readOtherDelivery(service, 'opted-out')
  assert.equal(optedOut.status, 'failed:permanent')
  // TikTok did not refuse it, because it was not sent.
  assert.match(optedOut.explanation, /^Not sent, because the platform would reject it\. To limit/)
  assert.deepEqual(await list(), [])
})

it('drops the phone digest of a caller, and keeps that of an email address', async test => {
  const { service, list } = await startWithTiktok(test)
  const [em, ph] = [hash('sha256', 'jane@example.com'), hash('sha256', '16505551212')]
  await submit(service, 'order-1', { user_data: { em, ph } })
  await service.deliver()
  const [received] = await list()
  assert.deepEqual(received?.event.user, { email: [em] })
})
