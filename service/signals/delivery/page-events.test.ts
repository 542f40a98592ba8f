import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  HOLD_SECONDS,
  listReceivedIds,
  REPLACED,
  readDelivery,
  readStatuses,
  samplePageOrder,
  sendFromBackEnd,
  sendFromPage,
  startShop,
} from '../../../testing/fixtures/page-events.ts'
import { startSecondService } from '../../../testing/fixtures/second-process.ts'
import { startTestService, type TestService } from '../../../testing/fixtures/service.ts'
import {
  findPlatformTarget,
  readSimulatorSummary,
  sendFromOtherSource,
} from '../../../testing/fixtures/simulator.ts'
import { waitUntil } from '../../../testing/fixtures/wait-until.ts'
import { DAY_SECONDS } from '../../runtime/util/time.ts'

it('sends the order of the back end although a page forged its ID first', async test => {
  const service = await startShop(test)
  await sendFromPage(service, samplePageOrder('order-1', '0.01'))
  await service.deliver()
  const held = await readDelivery(service, 'order-1', 'publishable')
  assert.equal(held.status, 'queued')
  assert.match(
    held.explanation,
    /^It waits until 2026-11-21T12:15:00.000Z, because the tracker secret sends events of this name/,
  )
  assert.equal(held.attempt_count, 0)

  await sendFromBackEnd(service, samplePageOrder('order-1', '99.00'))
  await service.deliver()
  assert.deepEqual(await readStatuses(service, 'order-1'), REPLACED)
  const { explanation } = await readDelivery(service, 'order-1', 'publishable')
  assert.match(
    explanation,
    /^Not sent: the tracker secret sent the same event \(order-1\) to this destination, and only/,
  )
  assert.doesNotMatch((await readDelivery(service, 'order-1', 'secret')).explanation, /dropped/)
  const { value_by_currency, receipts, deduplicated } = await readSimulatorSummary(
    service.simulatorUrl,
  )
  assert.deepEqual(
    { value_by_currency, receipts, deduplicated },
    {
      value_by_currency: { EUR: '99' },
      receipts: 1,
      deduplicated: 0,
    },
  )
})

describe('tag, pixel and back end in any order', () => {
  const ORDERS = [
    ['tag', 'pixel', 'backEnd'],
    ['tag', 'backEnd', 'pixel'],
    ['pixel', 'tag', 'backEnd'],
    ['pixel', 'backEnd', 'tag'],
    ['backEnd', 'tag', 'pixel'],
    ['backEnd', 'pixel', 'tag'],
  ] as const
  const SENDERS = {
    tag: (service: TestService) => sendFromPage(service, samplePageOrder('order-1', '99.00')),
    pixel: (service: TestService) =>
      sendFromOtherSource(service, {
        source: 'browser',
        events: [{ event_name: 'Purchase', event_id: 'order-1' }],
      }),
    backEnd: (service: TestService) =>
      sendFromBackEnd(service, samplePageOrder('order-1', '99.00')),
  }

  for (const sharesIds of [true, false]) {
    for (const senders of ORDERS) {
      it(`${senders.join(', ')} count once${sharesIds ? '' : ' without sharing'}`, async test => {
        const service = await startShop(test, { sharesIds })
        for (const sender of senders) {
          await SENDERS[sender](service)
          await service.deliver()
          service.clock.advance(60)
        }
        service.clock.advance(HOLD_SECONDS)
        await service.deliver()
        assert.deepEqual(await readStatuses(service, 'order-1'), REPLACED)
        assert.deepEqual(await listReceivedIds(service), ['order-1'])
        assert.equal(await countAtPlatform(service), 1)
      })
    }
  }

  /** Purchases of the day by server and by pixel, as the platform counts them. */
  async function countAtPlatform(service: TestService): Promise<number> {
    const { platforms, clock } = { ...service.delivery, clock: service.clock }
    const { datasetId, accessToken } = await findPlatformTarget(service, service.tracker)
    const hour = Math.floor(clock.now().getTime() / 3_600_000) * 3_600_000
    const day = { from: new Date(hour - 2 * 3_600_000), until: new Date(hour + 3_600_000) }
    let count = 0
    for (const source of ['server', 'browser'] as const) {
      const credentials = { target: { datasetId }, accessToken }
      const counts = await platforms.default.readDayCounts(credentials, day, source)
      assert.equal(counts.kind, 'counts')
      if (counts.kind === 'counts') count += counts.counts.Purchase ?? 0
    }
    return count
  }
})

it('reaches the same result when both arrive at the same moment in two processes', async test => {
  const service = await startShop(test)
  const beside = { ...service, ...(await startSecondService(test, service)) }
  const ids = Array.from({ length: 10 }, (_, number) => `order-${number}`)
  for (const [number, id] of ids.entries()) {
    await Promise.all([
      sendFromBackEnd(service, samplePageOrder(id, '99.00')),
      sendFromPage(number % 2 ? service : beside, samplePageOrder(id, '0.01')),
      service.deliver(),
    ])
  }
  await service.deliver()
  service.clock.advance(HOLD_SECONDS)
  await service.deliver()
  for (const id of ids) assert.deepEqual(await readStatuses(service, id), REPLACED)
  assert.equal((await readSimulatorSummary(service.simulatorUrl)).value_by_currency.EUR, '990')
})

it('replaces a held event whose secret event was not committed when it was claimed', async test => {
  const service = await startShop(test)
  // Before the other commit is open: writers of one day wait for each other at its counts when they
  // share a counter shard.
  await sendFromPage(service, samplePageOrder('order-1', '0.01', { visitor_id: undefined }))
  const blocker = await service.database.pool.connect()
  test.after(() => blocker.release())
  // The commit of the back end's event waits for this session, after its key is written.
  await blocker.query('begin')
  await blocker.query(
    `insert into sessions (tracker_id, visitor_id, first_seen_at, last_seen_at, click_ids)
     values ($1, 'visitor-1', now(), now(), '{}')`,
    [service.tracker.trackerId],
  )
  const submitted = sendFromBackEnd(service, samplePageOrder('order-1', '99.00'))
  await waitUntil('the commit waits for the session', async () => {
    const { rows } = await blocker.query('select 1 from pg_locks where not granted')
    return rows.length > 0
  })
  await service.deliver()
  assert.equal((await readDelivery(service, 'order-1', 'publishable')).status, 'queued')
  await blocker.query('rollback')
  await submitted
  await service.deliver()
  assert.deepEqual(await readStatuses(service, 'order-1'), REPLACED)
})

describe('an event of a page alone', () => {
  const refund = { event_id: 'later', parent_event_id: 'order-1' }

  it('is sent under its own ID after the wait where IDs are shared', async test => {
    const service = await startShop(test)
    await sendFromPage(service, samplePageOrder('order-1', '5.00'))
    await sendFromPage(service, samplePageOrder('later', '6.00', refund))
    await service.deliver()
    service.clock.advance(HOLD_SECONDS - 1)
    await service.deliver()
    assert.deepEqual(await listReceivedIds(service), [])
    service.clock.advance(1)
    await service.deliver()
    assert.deepEqual(await listReceivedIds(service), ['later', 'order-1'])
    const { explanation } = await readDelivery(service, 'order-1', 'publishable')
    assert.match(explanation, /^The platform accepted the event with the first attempt/)
  })

  it('is sent under prefixed IDs, order and parent included, where they are not', async test => {
    const service = await startShop(test, { sharesIds: false })
    await sendFromPage(service, samplePageOrder('order-1', '5.00'))
    await sendFromPage(service, samplePageOrder('later', '6.00', refund))
    await sendFromPage(
      service,
      samplePageOrder('of-secret', '7.00', { parent_event_id: 'earlier' }),
    )
    service.clock.advance(HOLD_SECONDS)
    await service.deliver()
    assert.deepEqual(await listReceivedIds(service), ['p.later', 'p.of-secret', 'p.order-1'])
    const { events } = await service.received('event_id=p.later')
    const [event] = events as unknown as Record<string, Record<string, unknown>>[]
    assert.equal(event?.custom_data?.order_id, 'p.later')
    const original = event?.other_members?.original_event_data as Record<string, unknown>
    assert.equal(original.event_id, 'p.order-1')
    assert.equal(original.order_id, 'p.order-1')
    const foreign = (await service.received('event_id=p.of-secret')).events as unknown as [
      { other_members: { original_event_data: Record<string, unknown> } },
    ]
    assert.equal(foreign[0].other_members.original_event_data.event_id, 'p.earlier')
    const { explanation } = await readDelivery(service, 'order-1', 'publishable')
    assert.match(explanation, /The platform knows it as p\.order-1, because pages of this tracker/)
  })

  it('does not wait for a name that only pages send, and keeps its ID', async test => {
    const service = await startShop(test, { sharesIds: false })
    await sendFromPage(service, samplePageOrder('lead-1', '5.00', { event_name: 'Lead' }))
    await service.deliver()
    assert.deepEqual(await listReceivedIds(service), ['lead-1'])
  })

  it('does not wait once the secret has not sent the name for a month', async test => {
    const service = await startShop(test)
    service.clock.advance(30 * DAY_SECONDS)
    await sendFromPage(service, samplePageOrder('order-1', '5.00'))
    await service.deliver()
    assert.deepEqual(await listReceivedIds(service), [])
    service.clock.advance(DAY_SECONDS)
    await sendFromPage(service, samplePageOrder('order-2', '5.00'))
    await service.deliver()
    assert.deepEqual(await listReceivedIds(service), ['order-1', 'order-2'])
  })

  it('is sent before the window of the platform ends, however long the wait', async test => {
    const service = await startShop(test)
    const event_time = service.clock.now().getTime() / 1_000 - 7 * DAY_SECONDS + 300
    await sendFromPage(service, samplePageOrder('order-1', '5.00', { event_time }))
    await service.deliver()
    service.clock.advance(180)
    await service.deliver()
    assert.deepEqual(await listReceivedIds(service), ['order-1'])
  })

  it('does not wait because of a test purchase', async test => {
    const service = await startTestService(test)
    const path = `/api/v1/destinations/${service.tracker.destinationId}`
    const on = { body: { enabled: true, test_event_code: 'TEST1' } }
    assert.equal((await service.request('PATCH', `${path}/test-mode`, on)).status, 200)
    assert.equal((await service.request('POST', `${path}/test-purchase`)).status, 200)
    const off = { body: { enabled: false } }
    assert.equal((await service.request('PATCH', `${path}/test-mode`, off)).status, 200)
    await sendFromPage(service, samplePageOrder('order-1', '5.00'))
    await service.deliver()
    assert.equal((await readDelivery(service, 'order-1', 'publishable')).status, 'accepted')
  })
})

describe('events with different IDs and the same order', () => {
  const page = samplePageOrder('page-id', '0.01', { value_data: orderData('0.01') })
  const secret = samplePageOrder('secret-id', '99.00', { value_data: orderData('99.00') })

  function orderData(value: string) {
    return { value, currency: 'EUR', order_id: '1001' }
  }

  for (const first of ['page', 'secret']) {
    it(`send only that of the secret when the ${first} is first`, async test => {
      const service = await startShop(test)
      if (first === 'page') await sendFromPage(service, page)
      await service.deliver()
      await sendFromBackEnd(service, secret)
      await service.deliver()
      if (first === 'secret') await sendFromPage(service, page)
      await service.deliver()
      assert.deepEqual(await listReceivedIds(service), ['secret-id'])
      const { status, explanation } = await readDelivery(service, 'page-id', 'publishable')
      assert.equal(status, 'skipped:duplicate')
      assert.match(explanation, /sent the same event \(secret-id\)/)
    })
  }

  it('are two events when their names differ', async test => {
    const service = await startShop(test)
    await sendFromBackEnd(service, { ...secret, event_name: 'Lead' })
    await sendFromPage(service, page)
    service.clock.advance(HOLD_SECONDS)
    await service.deliver()
    assert.deepEqual(await listReceivedIds(service), ['page-id', 'secret-id'])
  })
})
