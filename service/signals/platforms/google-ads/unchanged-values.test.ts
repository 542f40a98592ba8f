import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { describe, it, type TestContext } from 'node:test'
import {
  type GoogleShop,
  money,
  startGoogleShop,
} from '../../../../testing/fixtures/google-shop.ts'
import { samplePageOrder, sendFromPage } from '../../../../testing/fixtures/page-events.ts'
import { samplePurchase } from '../../../../testing/fixtures/sample-events.ts'
import { configureGoogle } from '../../../../testing/fixtures/simulator.ts'

const MINUTE = 60
const HOUR = 3_600
const DAY = 86_400

/** A refund of the sample purchase. */
const of = (value: string | undefined, currency = 'EUR') => ({
  value_data: money(value, '1001', currency),
})

describe('a refund that gives Google no new value', () => {
  async function refuse(
    test: TestContext,
    {
      prepare,
      changes,
      after,
    }: {
      prepare?: (shop: GoogleShop) => Promise<unknown>
      changes?: Record<string, unknown>
      after?: (shop: GoogleShop) => Promise<unknown>
    },
  ) {
    const shop = await startGoogleShop(test)
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
    {
      name: 'that names another refund as its parent, which is stored or comes later',
      changes: { ...of('10'), parent_event_id: 'refund-1' },
      text: /Another refund as its parent does not count/,
    },
    {
      name: 'whose order ID is an email address, which a token replaces',
      changes: { value_data: money('10', 'jane@example.com') },
      text: /an order_id with an identifier of a person/,
    },
  ]) {
    it(`is one ${name}`, async test => {
      const { told, status, explanation } = await refuse(test, { changes })
      assert.deepEqual([told, status], [[100], 'skipped:not_selected'])
      assert.match(explanation, text)
    })
  }

  for (const value of ['0', '-5.00']) {
    it(`is one of a purchase of ${value} EUR, which has nothing to refund`, async test => {
      const { shop, told, status, explanation } = await refuse(test, {
        prepare: own => own.buy({ value_data: money(value, '1001') }),
      })
      assert.deepEqual([told, status], [[Number(value)], 'skipped:not_selected'])
      assert.match(explanation, /no value above zero/)
      const { order } = (await shop.service.read('order-1001')).body
      const isNegative = value !== '0'
      assert.equal(order.net_value, isNegative ? null : '0')
      assert.equal(order.refunds[0].effect, isNegative ? 'no_purchase_value' : 'subtracted')
      if (isNegative) assert.match(order.explanation, /^The purchase has a value below zero, so/)
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

  for (const { name, prepare, status: expected, text } of [
    {
      name: 'is too old for Google without a click ID',
      prepare: async (shop: GoogleShop) => shop.service.clock.advance(64 * DAY),
      status: 'skipped:not_selected',
      text: /Google Ads matches events of the last 63 days only/,
    },
    {
      name: 'is too old for Google',
      prepare: async (shop: GoogleShop) => shop.service.clock.advance(90 * DAY),
      status: 'expired',
      text: /the purchase of .+ is older than the platform accepts/,
    },
    {
      name: 'has no identity any more',
      prepare: (shop: GoogleShop) => shop.service.database.pool.query('delete from event_payloads'),
      status: 'skipped:not_selected',
      text: /identity payload of the purchase has expired/,
    },
  ]) {
    it(`is one whose purchase ${name}`, async test => {
      const { told, status, explanation } = await refuse(test, {
        async prepare(shop) {
          await shop.buy()
          await shop.turn()
          await shop.turn(31 * MINUTE)
          await prepare(shop)
        },
      })
      assert.deepEqual([told, status], [[100], expected])
      assert.match(explanation, text)
    })
  }

  it('is one of more refunds than are added up', async test => {
    const { shop, told, status, explanation } = await refuse(test, {
      async after(own) {
        const others = Array.from({ length: 100 }, (_, index) => `more-${index}`)
        await Promise.all(others.map(id => own.refund(id, of('0.01'))))
      },
    })
    assert.deepEqual([told, status], [[100], 'skipped:not_selected'])
    assert.match(explanation, /more than 100 refunds/)
    const { body } = await shop.service.read('order-1001')
    assert.deepEqual([body.order.net_value, body.order.refunds.length], [null, 100])
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
    const shop = await startGoogleShop(test)
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
    const shop = await startGoogleShop(test)
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
