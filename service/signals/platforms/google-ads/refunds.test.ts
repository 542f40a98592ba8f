import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { expireLeases } from '../../../../testing/fixtures/deliveries.ts'
import { money, startGoogleShop } from '../../../../testing/fixtures/google-shop.ts'
import {
  configureGoogle,
  listGoogleReceipts,
  scriptGoogleFaults,
} from '../../../../testing/fixtures/simulator.ts'
import { claimDeliveries } from '../../delivery/claim-store.ts'

const MINUTE = 60
const HOUR = 3_600

/** A refund of the sample purchase. */
const of = (value: string | undefined, currency = 'EUR') => ({
  value_data: money(value, '1001', currency),
})

describe('a refund of a purchase that Google knows', () => {
  it('gives the purchase its net value, with everything else as it was', async test => {
    const shop = await startGoogleShop(test)
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
    assert.match(explanation, /told a new value of the purchase order-1001: 79\.50 EUR/)
    const { body } = await shop.service.read('refund-1')
    const meta = body.deliveries.find((one: { destination_id: string }) => {
      return one.destination_id !== shop.destinationId
    })
    assert.equal(meta.status, 'accepted')
    assert.match(meta.explanation, /cannot change the value of a purchase that it has/)
  })

  it('is counted under its own name, and the value of the purchase once', async test => {
    const shop = await startGoogleShop(test)
    await shop.buy()
    await shop.turn()
    await shop.refund('refund-1', of('-20.50'))
    await shop.turn(31 * MINUTE)
    await shop.turn(MINUTE)
    assert.deepEqual(await shop.values(), { 1001: '79.50 EUR' })
    const { rows } = await shop.service.database.pool.query(
      `select sent.event_name, sent.accepted::int,
         (select sum(amount)::text from sent_value_counts value
          where value.tracker_id = sent.tracker_id and value.event_name = sent.event_name
            and value.destination_id = sent.destination_id) as amount
       from sent_counts sent where tracker_id = $1 and destination_id = $2 order by 1`,
      [shop.service.tracker.trackerId, shop.destinationId],
    )
    const [purchase, refund] = rows
    assert.equal(rows.length, 2)
    assert.deepEqual([purchase?.accepted, Number(purchase?.amount)], [1, 100])
    assert.deepEqual(refund, { event_name: 'Refund', accepted: 1, amount: null })
  })

  it('waits until the result of the purchase, and uses up no attempt', async test => {
    const shop = await startGoogleShop(test)
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

  it('is not said to be known before the result, or after one of a part', async test => {
    const shop = await startGoogleShop(test)
    const explainOrder = async () => {
      const { body } = await shop.service.read('order-1001')
      const { platforms } = body.order as { platforms: { platform: string; explanation: string }[] }
      return platforms.find(({ platform }) => platform === 'google_ads')?.explanation
    }
    const isNet = 'The last value that the platform accepted is the net value.'
    const isOpen = 'It has not told the result of that request yet.'
    await shop.buy()
    await shop.buy({ event_id: 'order-2', value_data: money('7.00', 'other') })
    await shop.turn()
    assert.equal(await explainOrder(), `${isNet} ${isOpen}`)
    await shop.turn(31 * MINUTE)
    assert.equal(await explainOrder(), isNet)

    const errors = [{ transaction_id: '1001', reason: 'INVALID_GCLID' }]
    await configureGoogle(shop.service.simulatorUrl, { errors })
    await shop.refund('refund-1', of('10'))
    await shop.refund('refund-2', { value_data: money('1', 'other') })
    await shop.turn(MINUTE)
    assert.equal(await explainOrder(), `${isNet} ${isOpen}`)
    await shop.turn(31 * MINUTE)
    assert.deepEqual(await shop.values(), { 1001: '100.00 EUR', other: '6.00 EUR' })
    const explanation = (await explainOrder()) ?? ''
    assert.match(explanation, /It did not say that it processed that value: it told no result/)
    const { explanation: ofRefund } = await shop.read('refund-1')
    assert.match(ofRefund, /processed 1 of the 2 events .* told a new value of the purchase/)
  })

  it('adds up several refunds, and ends with the last net value', async test => {
    const shop = await startGoogleShop(test)
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
    const shop = await startGoogleShop(test)
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

  it('is told where Google had the purchase before, because an answer was lost', async test => {
    const shop = await startGoogleShop(test)
    await shop.buy()
    await scriptGoogleFaults(shop.service.simulatorUrl, [{ times: 1, abort: 'after_store' }])
    await shop.turn()
    await shop.refund('refund-1', of('10'))
    for (let hour = 0; hour < 4; hour += 1) await shop.turn(HOUR)
    assert.deepEqual(await shop.told(), [100, 100, 90])
    assert.deepEqual(await shop.values(), { 1001: '90.00 EUR' })
  })

  it('without a value refunds everything, and never more than that', async test => {
    const shop = await startGoogleShop(test)
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

it('a refund that arrives before its purchase is subtracted once the purchase is there', async test => {
  const shop = await startGoogleShop(test)
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
  const shop = await startGoogleShop(test, { filter: { minimum_value } })
  await shop.buy()
  await shop.turn()
  await shop.turn(31 * MINUTE)
  await shop.refund('refund-1', of('10'))
  await shop.turn(MINUTE)
  assert.deepEqual(await shop.values(), { 1001: '90.00 EUR' })
})
