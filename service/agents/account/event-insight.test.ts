import assert from 'node:assert/strict'
import { it } from 'node:test'
import { DeliveryExplanation, EventSearchResult } from '@signalbox/contract/agents/insight.ts'
import {
  type AdAccountFixture,
  assertMatchesSchema,
  createAdAccountFixture,
  startAdAccountFixture,
} from '../../../testing/fixtures/ad-account.ts'
import { samplePurchase } from '../../../testing/fixtures/sample-events.ts'
import type { Refusal } from '../../runtime/http/refusal.ts'
import { explainDeliveries } from './event-insight.ts'
import { searchAgentEvents } from './search-agent-events.ts'

const START = '2026-11-01T00:30:00Z'
const DAY = 86_400
const UNREADABLE = { consent: { analytics: true } }

async function explain({ service, principal }: AdAccountFixture, input: object = {}) {
  const context = { database: service.database, now: service.clock.now }
  const result = await explainDeliveries(context, principal, input)
  assertMatchesSchema(DeliveryExplanation, result)
  return result
}

async function search({ service, principal }: AdAccountFixture, input: object = {}) {
  const context = { database: service.database, now: service.clock.now }
  const result = await searchAgentEvents(context, principal, input)
  assertMatchesSchema(EventSearchResult, result)
  return result
}

async function submit({ submit }: AdAccountFixture, id: string, more: object = {}): Promise<void> {
  await submit(samplePurchase({ event_id: id, ...more }))
}

it('counts each stage by reason and compares it with the period before', async test => {
  const account = await startAdAccountFixture(test, { startAt: START })
  const { service } = account
  await submit(account, 'old')
  await service.deliver()
  service.clock.advance(2 * DAY)
  for (const id of ['a', 'b', 'c']) await submit(account, id, UNREADABLE)
  await submit(account, 'd')
  await service.deliver()
  await submit(account, 'waits')
  await account.submit({ event_name: 'Purchase' })
  await service.server.flushRefusals()
  const { since, until, stages, findings, event } = await explain(account, { days: 2 })
  assert.deepEqual([since, until], ['2026-11-01T00:00:00.000Z', '2026-11-03T00:30:00.000Z'])
  assert.equal(event, null)
  const { since: from } = await explain(account, { days: 1 })
  assert.equal(from, '2026-11-02T00:00:00.000Z')
  const recent = await explain(account, { days: 1 })
  const of = (name: string) => recent.stages.find(({ stage }) => stage === name)
  assert.deepEqual([of('accepted')?.count, of('accepted')?.previous_count], [5, 1])
  assert.deepEqual(
    [of('platform_accepted')?.count, of('platform_accepted')?.previous_count],
    [1, 1],
  )
  assert.deepEqual([of('waiting')?.count, of('waiting')?.previous_count], [1, null])
  const [held] = of('held')?.reasons ?? []
  assert.deepEqual([held?.reason, held?.count, held?.previous_count], ['no_signal', 3, 0])
  assert.match(held?.explanation ?? '', /nothing readable about consent/)
  const [refused] = of('refused')?.reasons ?? []
  assert.equal(refused?.count, 1)
  assert.match(refused?.explanation ?? '', /^.+\. .+\.$/)
  assert.ok(recent.findings.includes('held (no_signal): deliveries rose from 0 to 3.'))
  assert.ok(recent.findings.includes('accepted: events rose from 1 to 5.'))
  assert.deepEqual(findings, (await explain(account, { days: 2 })).findings)
  assert.equal(stages.length, 6)
})

it('explains one event without personal data', async test => {
  const account = await startAdAccountFixture(test, { startAt: START })
  const personal = {
    visitor_id: 'visitor-77',
    event_source: 'https://shop.example/thanks?email=ada@people.example',
    user_data: { em: 'ada@people.example', client_ip_address: '81.2.69.142' },
  }
  const value_data = { value: '19.95', currency: 'EUR', order_id: 'order-4711' }
  await submit(account, 'sent', { ...personal, value_data })
  await submit(account, 'held', { ...personal, ...UNREADABLE })
  await account.service.deliver()
  const { event } = await explain(account, { event_id: 'sent' })
  assert.deepEqual(
    [event?.event_id, event?.event_name, event?.value, event?.currency, event?.sent_by],
    ['sent', 'Purchase', '19.95', 'EUR', 'secret'],
  )
  assert.partialDeepStrictEqual(event?.deliveries, [
    { status: 'accepted', reason: 'accepted', attempts: 1 },
  ])
  const held = (await explain(account, { event_id: 'held' })).event
  assert.equal(held?.deliveries[0]?.status, 'skipped:consent')
  assert.equal((await explain(account, { event_id: 'unknown' })).event, null)
  for (const none of ['any', ''])
    assert.equal((await explain(account, { event_id: none })).event, null)
  const texts = JSON.stringify([event, held, await search(account), await explain(account)])
  for (const secret of ['ada@', '81.2', 'visitor-77', 'order-4711', 'thanks']) {
    assert.equal(texts.includes(secret), false, secret)
  }
})

it('counts matching events by name, status and reason, and shows the newest', async test => {
  const account = await startAdAccountFixture(test, { startAt: START })
  const { service } = account
  for (const id of ['1', '2', '3']) {
    await submit(account, id)
    service.clock.advance(1)
  }
  await submit(account, 'lead', { event_name: 'Lead', ...UNREADABLE })
  await service.deliver()
  const all = await search(account, { limit: 2 })
  assert.deepEqual(
    all.events.map(({ event_id }) => event_id),
    ['lead', '3'],
  )
  assert.deepEqual(
    all.counts.map(({ event_name, status, reason, events }) => [
      event_name,
      status,
      reason,
      events,
    ]),
    [
      ['Purchase', 'accepted', 'accepted', 3],
      ['Lead', 'skipped:consent', 'no_signal', 1],
    ],
  )
  assert.deepEqual([all.counted, all.is_minimum], [4, false])
  const counted = async (input: object) => (await search(account, input)).counted
  assert.equal(await counted({ event_name: 'Lead' }), 1)
  assert.equal(await counted({ event_name: 'any', outcome: 'any' }), 4)
  assert.equal(await counted({ outcome: 'held' }), 1)
  assert.equal(await counted({ outcome: 'held', event_name: 'Purchase' }), 0)
  assert.equal(await counted({ outcome: 'failed' }), 0)
  await submit(account, 'waits')
  assert.equal(await counted({ outcome: 'waiting' }), 1)
  service.clock.advance(2 * DAY)
  assert.equal(await counted({ days: 1 }), 0)
})

it('reads only trackers of the bound ad account', async test => {
  const account = await startAdAccountFixture(test, { startAt: START })
  await submit(account, 'mine')
  await account.service.deliver()
  const stranger = await createAdAccountFixture(account.service, await account.service.newTracker())
  assert.deepEqual((await search(stranger)).events, [])
  const { event, stages } = await explain(stranger, { event_id: 'mine' })
  assert.equal(event, null)
  assert.deepEqual([...new Set(stages.map(({ count }) => count))], [0])
  const own = await search(account)
  assert.deepEqual(
    own.events.map(({ event_id }) => event_id),
    ['mine'],
  )
})

it('names what to do when no tracker delivers for the ad account', async test => {
  const account = await startAdAccountFixture(test, { startAt: START })
  await account.service.database.pool.query(
    'update destinations set platform_ad_account_id = null where tracker_id = $1',
    [account.tracker.trackerId],
  )
  const { findings } = await explain(account)
  assert.match(findings[0] ?? '', /call get_signal_health/)
  assert.equal((await search(account)).counted, 0)
})

it('returns 422 naming invalid arguments, and 403 without the permission', async test => {
  const account = await startAdAccountFixture(test, { startAt: START })
  const fields = async (promise: Promise<unknown>) => {
    const refusal = await promise.then(
      () => assert.fail('it was accepted'),
      (error: Refusal) => error,
    )
    return [refusal.status, ...Object.keys(refusal.errors ?? {})]
  }
  assert.deepEqual(await fields(explain(account, { days: 31, event_id: 7 })), [
    422,
    'days',
    'event_id',
  ])
  assert.deepEqual(await fields(search(account, { outcome: 'lost', limit: 0, x: 1 })), [
    422,
    'x',
    'outcome',
    'limit',
  ])
  const principal = { ...account.principal, permissions: [] }
  const mute = { ...account, principal }
  assert.deepEqual(await fields(explain(mute)), [403])
  assert.deepEqual(await fields(search(mute)), [403])
})
