import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { expireLeases } from '../../../testing/fixtures/deliveries.ts'
import { startTestWorker } from '../../../testing/fixtures/delivery-worker.ts'
import {
  HOLD_SECONDS,
  listReceivedIds,
  REPLACED,
  readDelivery,
  readStatuses,
  samplePageOrder,
  sendFromBackEnd,
  sendFromPage,
  sharePageIds,
  startShop,
} from '../../../testing/fixtures/page-events.ts'
import type { TestService } from '../../../testing/fixtures/service.ts'
import { readSimulatorSummary, scriptFaults } from '../../../testing/fixtures/simulator.ts'
import { claimDeliveries } from './claim-store.ts'

describe('an event of the secret after the wait', () => {
  async function sendLate(test: TestContext, { sharesIds = true, value = '99.00' } = {}) {
    const service = await startShop(test, { sharesIds })
    await sendFromPage(service, samplePageOrder('order-1', '0.01'))
    service.clock.advance(HOLD_SECONDS)
    await service.deliver()
    await sendFromBackEnd(service, samplePageOrder('order-1', value))
    await service.deliver()
    assert.deepEqual(await readStatuses(service, 'order-1'), {
      page: 'accepted',
      secret: 'accepted',
    })
    const explanations = {
      page: (await readDelivery(service, 'order-1', 'publishable')).explanation,
      secret: (await readDelivery(service, 'order-1', 'secret')).explanation,
    }
    const { rows: issues } = await service.database.pool.query(
      'select class, reason, attempts, failed, event_ids[1] as event from delivery_issues',
    )
    return { service, explanations, issues }
  }

  it('may be dropped by the platform, which both explanations and Issues say', async test => {
    const { service, explanations, issues } = await sendLate(test)
    assert.equal((await readSimulatorSummary(service.simulatorUrl)).deduplicated, 1)
    assert.match(
      explanations.secret,
      /may have dropped it as a duplicate: a page sent an event with the same name and ID and another value \(0\.01 EUR\) first, at 2026-11-21T12:15:00\.000Z\. Nothing more happens\.$/,
    )
    assert.match(
      explanations.page,
      /sent the same event with another value \(99\.00 EUR\) afterwards, at 2026-11-21T12:15:00/,
    )
    const [{ event, ...issue }] = issues
    assert.equal(event.split('\x1e')[0], '0:order-1')
    assert.deepEqual(issue, { class: 'local', reason: 'page_sent_first', attempts: 1, failed: 0 })
  })

  it('is no loss when the values are equal', async test => {
    const { explanations, issues } = await sendLate(test, { value: '0.010' })
    assert.doesNotMatch(`${explanations.secret} ${explanations.page}`, /dropped/)
    assert.deepEqual(issues, [])
  })

  it('counts beside the prefixed one where IDs are not shared', async test => {
    const { service, explanations, issues } = await sendLate(test, { sharesIds: false })
    assert.deepEqual(await listReceivedIds(service), ['order-1', 'p.order-1'])
    assert.doesNotMatch(`${explanations.secret} ${explanations.page}`, /dropped/)
    assert.deepEqual(issues, [])
  })
})

describe('a held event', () => {
  async function startHeld(test: TestContext, options: { sharesIds?: boolean } = {}) {
    const service = await startShop(test, options)
    await sendFromPage(service, samplePageOrder('order-1', '0.01'))
    await service.deliver()
    return service
  }

  function claim(service: TestService) {
    const { trackerId, destinationId } = service.tracker
    return claimDeliveries(service.database, {
      queue: { trackerId, destinationId, isProbe: false },
      limit: 10,
      claimedAt: service.clock.now(),
      leaseSeconds: 60,
    })
  }

  it('is still held after a worker was killed that had claimed it', async test => {
    const service = await startShop(test, { sharesIds: false })
    await sendFromPage(service, samplePageOrder('order-1', '0.01'))
    assert.equal((await claim(service)).deliveries.length, 1)
    await expireLeases(service.database)
    await service.deliver()
    assert.equal((await readDelivery(service, 'order-1', 'publishable')).status, 'queued')
    assert.deepEqual(await listReceivedIds(service), [])
    service.clock.advance(HOLD_SECONDS)
    assert.equal((await claim(service)).deliveries.length, 1)
    await expireLeases(service.database)
    await service.deliver()
    assert.deepEqual(await listReceivedIds(service), ['p.order-1'])
  })

  it('keeps the ID of its first attempt when the setting changes', async test => {
    const service = await startHeld(test, { sharesIds: false })
    await scriptFaults(service.simulatorUrl, [{ respond: { status: 500, code: 2 } }])
    service.clock.advance(HOLD_SECONDS)
    await service.deliver()
    assert.equal((await readDelivery(service, 'order-1', 'publishable')).status, 'retrying')
    await scriptFaults(service.simulatorUrl, [])
    await sharePageIds(service, true)
    service.clock.advance(60)
    await service.deliver()
    assert.deepEqual(await listReceivedIds(service), ['p.order-1'])
    const { explanation } = await readDelivery(service, 'order-1', 'publishable')
    assert.match(explanation, /knows it as p\.order-1/)
  })

  it('is not sent again once the event of the secret is there', async test => {
    const service = await startHeld(test)
    await scriptFaults(service.simulatorUrl, [{ respond: { status: 500, code: 2 } }])
    service.clock.advance(HOLD_SECONDS)
    await service.deliver()
    await scriptFaults(service.simulatorUrl, [])
    await sendFromBackEnd(service, samplePageOrder('order-1', '99.00'))
    service.clock.advance(60)
    await service.deliver()
    assert.deepEqual(await readStatuses(service, 'order-1'), REPLACED)
    const { explanation } = await readDelivery(service, 'order-1', 'publishable')
    assert.match(explanation, /^Not sent again after one attempt: the tracker secret/)
  })

  it('becomes a duplicate when it is replayed after the event of the secret', async test => {
    const service = await startHeld(test)
    const refuse = { respond: { status: 400, code: 100, subcode: 2_804_048 } }
    await scriptFaults(service.simulatorUrl, [refuse])
    service.clock.advance(HOLD_SECONDS)
    await service.deliver()
    assert.equal((await readDelivery(service, 'order-1', 'publishable')).status, 'failed:permanent')
    await scriptFaults(service.simulatorUrl, [])
    await sendFromBackEnd(service, samplePageOrder('order-1', '99.00'))
    await service.deliver()
    const replayed = await service.request('POST', '/api/v1/deliveries/replay')
    assert.equal(replayed.body.queued, 1)
    await service.deliver()
    assert.deepEqual(await readStatuses(service, 'order-1'), REPLACED)
  })

  it('is not sent after its visitor withdrew consent or was erased', async test => {
    const service = await startHeld(test)
    await sendFromPage(service, samplePageOrder('order-2', '0.02', { visitor_id: 'visitor-2' }))
    await service.deliver()
    const withdrawal = {
      event_name: 'consent_withdrawal',
      consent_basis: 'legitimate_interest',
      visitor_id: 'visitor-1',
    }
    assert.equal((await service.submit(withdrawal)).status, 202)
    assert.equal((await readDelivery(service, 'order-1', 'publishable')).status, 'skipped:consent')
    const identifier_hash = '8c87b489ce35cf2e2f39f80e282cb2e804932a56a213983eeeb428407d43b52d'
    const erased = await service.request('DELETE', '/api/v1/user-data', {
      body: { identifier_hash },
    })
    assert.equal(erased.status, 200)
    assert.equal((await readDelivery(service, 'order-2', 'publishable')).status, 'skipped:consent')
    service.clock.advance(HOLD_SECONDS)
    await service.deliver()
    assert.deepEqual(await listReceivedIds(service), [])
  })

  it('stays in the queue when the worker stops', async test => {
    const service = await startHeld(test)
    const worker = startTestWorker(test, service)
    worker.wake()
    await worker.stop()
    assert.equal((await readDelivery(service, 'order-1', 'publishable')).status, 'queued')
    service.clock.advance(HOLD_SECONDS)
    await service.deliver()
    assert.deepEqual(await listReceivedIds(service), ['order-1'])
  })

  it('is sent when the event of the secret may not be', async test => {
    const service = await startHeld(test)
    const consent = { analytics: 'granted' }
    await sendFromBackEnd(service, samplePageOrder('order-1', '99.00', { consent }))
    await service.deliver()
    assert.equal((await readDelivery(service, 'order-1', 'secret')).status, 'skipped:consent')
    service.clock.advance(HOLD_SECONDS)
    await service.deliver()
    assert.equal((await readDelivery(service, 'order-1', 'publishable')).status, 'accepted')
  })
})

it('counts a replaced event as held back, not as planned', async test => {
  const service = await startShop(test)
  await sendFromPage(service, samplePageOrder('order-1', '0.01'))
  await sendFromBackEnd(service, samplePageOrder('order-1', '99.00'))
  await service.deliver()
  const { rows } = await service.database.pool.query(
    `select (select sum(planned) from delivery_counts) as planned,
       (select sum(count) from stage_counts where reason = 'sent_by_secret') as held`,
  )
  assert.deepEqual(rows, [{ planned: 2, held: 1 }])
})
