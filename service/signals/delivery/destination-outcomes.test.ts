import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { it } from 'node:test'
import fc from 'fast-check'
import { startServiceThatSent, submitNumbered } from '../../../testing/fixtures/deliveries.ts'
import { startTestService, type TestService } from '../../../testing/fixtures/service.ts'
import { scriptFaults } from '../../../testing/fixtures/simulator.ts'
import { readOutcomes, sumSentValues } from './sent-counts-store.ts'

const DAY = '2026-11-21'

function valuesOfDay({ database, tracker }: TestService) {
  const { trackerId, destinationId } = tracker
  return sumSentValues(database, { trackerId, destinationId, day: DAY })
}

function outcomesOfDay({ database, tracker }: TestService, day = DAY) {
  const { trackerId, destinationId } = tracker
  return readOutcomes(database, { trackerId, destinationId, day })
}

it('sums the exact value of accepted live events by name and currency', async test => {
  const value = (amount: string, currency: string) => ({ value_data: { value: amount, currency } })
  const service = await startServiceThatSent(test, [
    value('0.1', 'EUR'),
    value('0.2', 'eur'),
    value('999999999999.123456', 'EUR'),
    value('5', 'JPY'),
    { event_name: 'AddToCart', ...value('7.50', 'EUR') },
    { event_name: 'Lead', value_data: undefined },
  ])
  assert.deepEqual(await valuesOfDay(service), [
    { eventName: 'AddToCart', currency: 'EUR', events: 1, amount: '7.50' },
    { eventName: 'Purchase', currency: 'EUR', events: 3, amount: '999999999999.423456' },
    { eventName: 'Purchase', currency: 'JPY', events: 1, amount: '5' },
  ])
})

it('sums no value of test events, of refused events or of a repeated settlement', async test => {
  const service = await startTestService(test)
  await scriptFaults(service.simulatorUrl, [
    { times: 1, respond: { status: 400, code: 100, subcode: 2_804_048 } },
    { times: 1, abort: 'after_store' },
  ])
  await submitNumbered(service, { event_id: 'refused' })
  await service.deliver()
  await submitNumbered(service, { event_id: 'sent-twice' })
  await service.deliver()
  service.clock.advance(60)
  await service.deliver()
  const path = `/api/v1/destinations/${service.tracker.destinationId}/test-mode`
  const body = { enabled: true, test_event_code: 'TEST1' }
  await service.request('PATCH', path, { body })
  await submitNumbered(service, { event_id: 'test' })
  await service.deliver()
  const [sum, ...others] = await valuesOfDay(service)
  assert.deepEqual([sum?.events, sum?.amount, others], [1, '19.95', []])
})

it('sums any decimals without a rounding error', async test => {
  const { database, tracker } = await startTestService(test)
  const { trackerId, destinationId } = tracker
  const key = [trackerId, destinationId, DAY]
  const amounts = fc.array(
    fc
      .tuple(fc.bigInt({ min: -(10n ** 18n), max: 10n ** 18n }), fc.nat({ max: 6 }))
      .map(([digits, scale]) => toDecimal(digits, scale)),
    { minLength: 1, maxLength: 40 },
  )
  await fc.assert(
    fc.asyncProperty(amounts, async sent => {
      await database.pool.query('delete from sent_value_counts where tracker_id = $1', [trackerId])
      for (const [index, amount] of sent.entries()) {
        await database.pool.query(
          `insert into sent_value_counts values ($1, $2, $3, 'Purchase', 'EUR', $4, 1, $5)
           on conflict (tracker_id, destination_id, sent_on, event_name, currency, slot)
           do update set events = sent_value_counts.events + 1,
             amount = sent_value_counts.amount + excluded.amount`,
          [...key, index % 8, amount],
        )
      }
      const [sum] = await sumSentValues(database, { trackerId, destinationId, day: DAY })
      const exact = sent.reduce((total, amount) => total + toMillionths(amount), 0n)
      assert.equal(toMillionths(sum?.amount ?? ''), exact)
    }),
    { numRuns: 25 },
  )
})

function toDecimal(digits: bigint, scale: number): string {
  const sign = digits < 0n ? '-' : ''
  const text = digits
    .toString()
    .replace('-', '')
    .padStart(scale + 1, '0')
  return sign + (scale === 0 ? text : `${text.slice(0, -scale)}.${text.slice(-scale)}`)
}

function toMillionths(amount: string): bigint {
  const [whole = '', fraction = ''] = amount.replace('-', '').split('.')
  const millionths = BigInt(`${whole}${fraction.padEnd(6, '0')}`)
  return amount.startsWith('-') ? -millionths : millionths
}

it('counts what a destination did not get, and takes replayed deliveries out again', async test => {
  const service = await startTestService(test)
  await scriptFaults(service.simulatorUrl, [
    { times: 1, respond: { status: 400, code: 100, subcode: 2_804_048 } },
  ])
  await submitNumbered(service, { event_id: 'refused' })
  await service.deliver()
  await submitNumbered(service, { event_id: 'old', event_time: '2026-10-01T10:00:00Z' })
  const user_data = { em: 'joe@example.com' }
  await submitNumbered(service, { event_id: 'withdrawn', visitor_id: 'visitor-9', user_data })
  await service.submit({
    event_name: 'consent_withdrawal',
    consent_basis: 'legitimate_interest',
    visitor_id: 'visitor-9',
  })
  await service.deliver()
  const failed = { status: 'failed:permanent', reason: 'refused_by_platform', count: 1 }
  const others = [
    { status: 'expired', reason: 'outside_window', count: 1 },
    { status: 'skipped:consent', reason: 'consent_withdrawn', count: 1 },
  ]
  const byStatus = async (day = DAY) =>
    (await outcomesOfDay(service, day)).toSorted((one, other) =>
      String(one.status) < String(other.status) ? -1 : 1,
    )
  assert.deepEqual(await byStatus(), [others[0], failed, others[1]])
  service.clock.advance(86_400)
  const replayed = await service.request('POST', '/api/v1/deliveries/replay', { body: {} })
  assert.equal(replayed.body.queued, 1, replayed.text)
  await service.deliver()
  assert.deepEqual(await byStatus(), others)
  assert.deepEqual(await byStatus('2026-11-22'), [])
})

it('counts an erased waiting delivery as skipped', async test => {
  const service = await startTestService(test)
  await submitNumbered(service, { event_id: 'erased' })
  const body = { identifier_hash: digestOf('jane@example.com') }
  const erased = await service.request('DELETE', '/api/v1/user-data', { body })
  assert.equal(erased.status, 200, erased.text)
  assert.deepEqual(await outcomesOfDay(service), [
    { status: 'skipped:consent', reason: 'erased', count: 1 },
  ])
})

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}
