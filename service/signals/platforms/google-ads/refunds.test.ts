import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { describe, it, type TestContext } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { expireLeases } from '../../../../testing/fixtures/deliveries.ts'
import { samplePageOrder, sendFromPage } from '../../../../testing/fixtures/page-events.ts'
import { samplePurchase } from '../../../../testing/fixtures/sample-events.ts'
import { startTestService, type TestService } from '../../../../testing/fixtures/service.ts'
import { configureGoogle, listGoogleReceipts } from '../../../../testing/fixtures/simulator.ts'
import { ROUTES_MILLISECONDS } from '../../../../testing/fixtures/two-platforms.ts'
import { provisionDestination } from '../../../program/provisioning/provision-tracker.ts'
import { claimDeliveries } from '../../delivery/claim-store.ts'
import { pollReceipts } from '../../delivery/poll-receipts.ts'

const MINUTE = 60
const HOUR = 3_600
const DAY = 86_400

interface Shop {
  service: TestService
  destinationId: string
  buy: (changes?: Record<string, unknown>) => Promise<void>
  refund: (eventId: string, changes?: Record<string, unknown>) => Promise<void>
  /** Sends what is due, and reads the results that are due by then. */
  turn: (seconds?: number) => Promise<void>
  /** The delivery of an event to Google. */
  read: (eventId: string) => Promise<{ status: string; explanation: string; attempt_count: number }>
  /** The values that Google was told of the order, in their order. */
  told: () => Promise<number[]>
  /** What Google has of each transaction now. */
  values: () => Promise<Record<string, string>>
}

/** A shop whose purchases go to a conversion action of Google Ads, and to Meta. */
async function startShop(test: TestContext, routing: object = {}): Promise<Shop> {
  const service = await startTestService(test)
  const { database, delivery, tracker, clock, simulatorUrl } = service
  const google = delivery.platforms.find('google_ads')
  assert.ok(google)
  const { config, credential } = google.createSimulatorDestination()
  const destinationId = await provisionDestination(database, {
    trackerId: tracker.trackerId,
    at: clock.now(),
    credentialKeys: delivery.credentialKeys,
    routing: { event_names: { Purchase: '456' }, ...routing },
    connected: { platform: 'google_ads', config, accessToken: credential },
  })
  await delay(ROUTES_MILLISECONDS)
  const submit = async (body: Record<string, unknown>) => {
    const { status, text } = await service.submit(body)
    assert.ok(status === 202 || status === 200, text)
  }
  return {
    service,
    destinationId,
    buy: (changes = {}) =>
      submit(samplePurchase({ value_data: money('100.00', '1001'), ...changes })),
    refund: (event_id, changes = {}) =>
      submit(samplePurchase({ event_id, event_name: 'Refund', ...changes })),
    async turn(seconds = 0) {
      clock.advance(seconds)
      await pollReceipts(delivery, { now: clock.now() })
      await service.deliver()
    },
    async read(eventId) {
      const { body } = await service.read(eventId)
      return body.deliveries.find((one: { destination_id: string }) => {
        return one.destination_id === destinationId
      })
    },
    async told() {
      const received = await listGoogleReceipts(simulatorUrl)
      return received.map(({ event }) => event.conversionValue)
    },
    async values() {
      const response = await fetch(`${simulatorUrl}/_simulator/google/conversions`)
      const { conversions } = (await response.json()) as {
        conversions: { transaction_id: string; value: string; currency: string }[]
      }
      return Object.fromEntries(
        conversions.map(({ transaction_id: id, value, currency }) => [id, `${value} ${currency}`]),
      )
    },
  }
}

function money(value: string | undefined, order_id?: string, currency = 'EUR') {
  return { value, currency, order_id }
}

/** A refund of the sample purchase. */
const of = (value: string | undefined, currency = 'EUR') => ({
  value_data: money(value, '1001', currency),
})

describe('a refund of a purchase that Google knows', () => {
  it('gives the purchase its net value, with everything else as it was', async test => {
    const shop = await startShop(test)
    await shop.buy()
    await shop.turn()
    await shop.refund('refund-1', { ...of('-20.50'), user_data: { em: 'other@example.com' } })
    await shop.turn()
    assert.equal((await shop.read('refund-1')).status, 'queued')
    assert.deepEqual(await shop.values(), { 1001: '100.00 EUR' })

    await shop.turn(31 * MINUTE)
    await shop.turn(MINUTE)
    assert.deepEqual(await shop.values(), { 1001: '79.50 EUR' })
    const [bought, restated] = await listGoogleReceipts(shop.service.simulatorUrl)
    assert.deepEqual(
      { ...restated?.event, conversionValue: bought?.event.conversionValue },
      bought?.event,
    )
    const { status, explanation } = await shop.read('refund-1')
    assert.equal(status, 'accepted')
    assert.match(explanation, /gave the purchase order-1001 a new value there: 79\.50 EUR/)
    const { body } = await shop.service.read('refund-1')
    const meta = body.deliveries.find((one: { destination_id: string }) => {
      return one.destination_id !== shop.destinationId
    })
    assert.equal(meta.status, 'accepted')
    assert.match(meta.explanation, /cannot change the value of a purchase that it has/)
  })

  it('waits until the result of the purchase, and uses up no attempt', async test => {
    const shop = await startShop(test)
    await configureGoogle(shop.service.simulatorUrl, { processing_seconds: 5 * HOUR })
    await shop.buy()
    await shop.refund('refund-1', { parent_event_id: 'order-1001', value_data: money('5') })
    await shop.turn()
    for (let hour = 0; hour < 4; hour += 1) await shop.turn(HOUR)
    const waiting = await shop.read('refund-1')
    assert.deepEqual([waiting.status, waiting.attempt_count], ['queued', 0])
    assert.match(
      waiting.explanation,
      /waits until the platform has confirmed the purchase order-1001/,
    )
    assert.deepEqual(await shop.told(), [100])
    for (let hour = 0; hour < 9; hour += 1) await shop.turn(HOUR)
    assert.deepEqual(await shop.values(), { 1001: '95.00 EUR' })
  })

  it('adds up several refunds, and ends with the last net value', async test => {
    const shop = await startShop(test)
    await shop.buy()
    await shop.turn()
    await shop.turn(31 * MINUTE)
    await shop.refund('refund-1', of('10'))
    await shop.refund('refund-2', of('20'))
    await shop.turn()
    // Two at once: one is sent, with both refunds in its value.
    assert.deepEqual(await shop.told(), [100, 70])
    await shop.refund('refund-3', of('0.005'))
    await shop.turn(MINUTE)
    // The result of the second value is not known, so a third one could be processed before it.
    assert.deepEqual(await shop.told(), [100, 70])
    for (let turns = 0; turns < 4; turns += 1) await shop.turn(31 * MINUTE)
    assert.deepEqual(await shop.values(), { 1001: '69.995 EUR' })
    assert.deepEqual(await shop.told(), [100, 70, 69.995])
    const statuses = await Promise.all([1, 2, 3].map(id => shop.read(`refund-${id}`)))
    const reasons = statuses.map(({ status }) => status).sort()
    assert.deepEqual(reasons, ['accepted', 'accepted', 'skipped:duplicate'])
  })

  it('is told by the worker that takes over after a crash, with all refunds', async test => {
    const shop = await startShop(test)
    await shop.buy()
    await shop.turn()
    await shop.turn(31 * MINUTE)
    await shop.refund('refund-1', of('10'))
    const { database, clock, tracker } = shop.service
    const claimed = await claimDeliveries(database, {
      queue: { trackerId: tracker.trackerId, destinationId: shop.destinationId, isProbe: false },
      limit: 10,
      claimedAt: clock.now(),
      leaseSeconds: 60,
    })
    assert.equal(claimed.deliveries.length, 1)
    await shop.refund('refund-2', of('20'))
    await shop.turn()
    // The other worker may be sending its value.
    assert.deepEqual(await shop.told(), [100])
    await expireLeases(database)
    for (let turns = 0; turns < 4; turns += 1) await shop.turn(31 * MINUTE)
    assert.deepEqual(await shop.values(), { 1001: '70.00 EUR' })
  })

  it('without a value refunds everything, and never more than that', async test => {
    const shop = await startShop(test)
    await shop.buy()
    await shop.turn()
    await shop.turn(31 * MINUTE)
    await shop.refund('refund-1', of('30'))
    await shop.refund('refund-2', { value_data: { order_id: '1001' } })
    await shop.refund('refund-3', of('500'))
    for (let turns = 0; turns < 4; turns += 1) await shop.turn(31 * MINUTE)
    assert.deepEqual(await shop.values(), { 1001: '0.00 EUR' })
    const { body } = await shop.service.read('order-1001')
    assert.equal(body.order.net_value, '0.00')
    assert.match(
      body.order.explanation,
      /more than the purchase: the net value is never below zero/,
    )
  })
})

describe('a refund that gives Google no new value', () => {
  async function refuse(
    test: TestContext,
    {
      prepare,
      changes,
      after,
    }: {
      prepare?: (shop: Shop) => Promise<unknown>
      changes?: Record<string, unknown>
      after?: (shop: Shop) => Promise<unknown>
    },
  ) {
    const shop = await startShop(test)
    await (prepare ?? (own => own.buy()))(shop)
    await shop.turn()
    await shop.refund('refund-1', changes ?? of('10'))
    await after?.(shop)
    for (let turns = 0; turns < 4; turns += 1) await shop.turn(31 * MINUTE)
    const before = await shop.told()
    const { status, explanation } = await shop.read('refund-1')
    return { shop, told: before, status, explanation }
  }

  for (const { name, changes, text } of [
    { name: 'in another currency', changes: of('10', 'USD'), text: /Amounts are never converted/ },
    { name: 'of zero', changes: of('0.00'), text: /refund is zero/ },
    {
      name: 'that names no order',
      changes: { value_data: money('10') },
      text: /names its purchase neither by parent_event_id nor by order_id/,
    },
  ]) {
    it(`is one ${name}`, async test => {
      const { told, status, explanation } = await refuse(test, { changes })
      assert.deepEqual([told, status], [[100], 'skipped:not_selected'])
      assert.match(explanation, text)
    })
  }

  it('is one whose purchase is processed in part, which may be the refused one', async test => {
    const { told, status, explanation } = await refuse(test, {
      async prepare(shop) {
        const errors = [{ transaction_id: 'other', reason: 'INVALID_GCLID' }]
        await configureGoogle(shop.service.simulatorUrl, { errors })
        await shop.buy()
        await shop.buy({ event_id: 'order-2', value_data: money('1', 'other') })
      },
    })
    assert.deepEqual([told.length, status], [2, 'skipped:not_selected'])
    assert.match(explanation, /processed only a part of the request and does not say which/)
  })

  it('is one whose purchase failed, until both are replayed', async test => {
    const { shop, told, status, explanation } = await refuse(test, {
      async prepare(own) {
        const errors = [{ reason: 'OPERATING_ACCOUNT_MISMATCH_FOR_AD_IDENTIFIER' }]
        await configureGoogle(own.service.simulatorUrl, { errors })
        await own.buy()
      },
    })
    assert.deepEqual([told, status], [[100], 'failed:permanent'])
    assert.match(explanation, /purchase that it refunds failed at this destination/)
    await configureGoogle(shop.service.simulatorUrl, { errors: [] })
    const { body } = await shop.service.request('POST', '/api/v1/deliveries/replay', { body: {} })
    assert.equal(body.queued, 2)
    for (let turns = 0; turns < 4; turns += 1) await shop.turn(31 * MINUTE)
    assert.deepEqual(await shop.values(), { 1001: '90.00 EUR' })
  })

  it('is one whose purchase consent kept from Google', async test => {
    const { told, status, explanation } = await refuse(test, {
      prepare: shop => shop.buy({ consent: { advertising: 'granted', 'Google Ads': false } }),
    })
    assert.deepEqual([told, status], [[], 'skipped:not_selected'])
    assert.match(explanation, /this destination was not sent the purchase/)
  })

  it('is one whose person withdrew consent after the purchase', async test => {
    const { told, status, explanation } = await refuse(test, {
      prepare: shop => shop.buy({ visitor_id: 'buyer' }),
      changes: { ...of('10'), visitor_id: undefined, user_data: { em: 'clerk@example.com' } },
      async after(shop) {
        const { status } = await shop.service.submit({
          event_name: 'consent_withdrawal',
          consent_basis: 'legitimate_interest',
          visitor_id: 'buyer',
        })
        assert.equal(status, 202)
      },
    })
    assert.deepEqual([told, status], [[100], 'skipped:consent'])
    assert.match(explanation, /the person of the purchase withdrew consent/)
  })

  it('is one whose person was erased after the purchase', async test => {
    const { shop, told, status, explanation } = await refuse(test, {
      prepare: own => own.buy({ visitor_id: 'buyer', user_data: { em: 'buyer@example.com' } }),
      changes: { ...of('10'), visitor_id: undefined, user_data: { em: 'clerk@example.com' } },
      async after(own) {
        const body = { identifier_hash: hash('sha256', 'buyer@example.com') }
        const { status } = await own.service.request('DELETE', '/api/v1/user-data', { body })
        assert.equal(status, 200)
      },
    })
    assert.deepEqual([told, status], [[100], 'skipped:consent'])
    assert.match(explanation, /data of the person of the purchase was erased/)
    const { body } = await shop.service.read('order-1001')
    assert.equal(body.order.net_value, '90.00')
  })

  it('is one of two purchases with one order ID', async test => {
    const { told, status, explanation } = await refuse(test, {
      async prepare(shop) {
        await shop.buy()
        await shop.buy({ event_id: 'again', value_data: money('40.00', '1001') })
      },
    })
    assert.deepEqual([told.length, status], [2, 'skipped:not_selected'])
    assert.match(explanation, /several purchases have the order ID/)
  })

  it('is one whose purchase is not stored within a day', async test => {
    const { shop, told, status } = await refuse(test, {
      prepare: own => own.buy({ event_id: 'unrelated', value_data: money('1', 'other') }),
      changes: of('10'),
    })
    assert.deepEqual([told, status], [[1], 'queued'])
    await shop.turn(DAY)
    const { status: ended, explanation } = await shop.read('refund-1')
    assert.equal(ended, 'skipped:not_selected')
    assert.match(explanation, /was not stored within a day/)
  })

  it("is one of another tracker's order", async test => {
    const shop = await startShop(test)
    const other = await shop.service.newTracker()
    const secret = other.trackerSecret
    const body = samplePurchase({ value_data: money('100.00', '1001') })
    await shop.service.request('POST', '/api/v1/events', { secret, body })
    await shop.refund('refund-1', { ...of('10'), parent_event_id: undefined })
    await shop.turn()
    await shop.turn(DAY)
    await shop.turn(HOUR)
    assert.equal((await shop.read('refund-1')).status, 'skipped:not_selected')
    assert.deepEqual(await shop.told(), [])
    const read = await shop.service.request('GET', '/api/v1/events/order-1001', { secret })
    assert.deepEqual([read.body.order.net_value, read.body.order.refunds], ['100.00', []])
  })

  it('is one of a page, which anyone can forge', async test => {
    const shop = await startShop(test)
    await shop.buy()
    await shop.turn()
    await shop.turn(31 * MINUTE)
    await sendFromPage(
      shop.service,
      samplePageOrder('forged', '99.00', { event_name: 'Refund', ...of('99') }),
    )
    // A page names the order of the secret, and another purchase of the secret as its own event.
    await sendFromPage(shop.service, samplePageOrder('order-2', '1.00', of('1')))
    await shop.buy({ event_id: 'order-2', value_data: money('50.00', '1002') })
    await shop.refund('refund-2', { parent_event_id: 'order-2', value_data: money('50') })
    for (let turns = 0; turns < 5; turns += 1) await shop.turn(31 * MINUTE)
    assert.deepEqual((await shop.values())['1001'], '100.00 EUR')
    assert.deepEqual((await shop.values())['1002'], '0.00 EUR')
    const { explanation } = await shop.read('forged')
    assert.match(explanation, /a page sent the refund/)
  })
})

it('a refund that arrives before its purchase is subtracted once the purchase is there', async test => {
  const shop = await startShop(test)
  await shop.refund('refund-1', { parent_event_id: 'order-1001', value_data: money('25.00') })
  await shop.refund('refund-1', { parent_event_id: 'order-1001', value_data: money('25.00') })
  await shop.turn()
  const { status, explanation } = await shop.read('refund-1')
  assert.equal(status, 'queued')
  assert.match(explanation, /waits for the purchase that it refunds, which is not stored/)
  await shop.buy()
  await shop.turn(2 * MINUTE)
  for (let turns = 0; turns < 4; turns += 1) await shop.turn(31 * MINUTE)
  assert.deepEqual(await shop.values(), { 1001: '75.00 EUR' })
  assert.deepEqual(await shop.told(), [100, 75])
})

it('a filter decides about refunds, but not by their value', async test => {
  const minimum_value = { amount: '50', currency: 'EUR' }
  const shop = await startShop(test, { filter: { minimum_value } })
  await shop.buy()
  await shop.turn()
  await shop.turn(31 * MINUTE)
  await shop.refund('refund-1', of('10'))
  await shop.turn(MINUTE)
  assert.deepEqual(await shop.values(), { 1001: '90.00 EUR' })
})
