import assert from 'node:assert/strict'
import { it } from 'node:test'
import { samplePurchase } from '../../../testing/fixtures/sample-events.ts'
import { startTestService } from '../../../testing/fixtures/service.ts'

const PAGE = { event_name: 'PageView', value_data: undefined }

it('returns the click IDs of an event and the fbc derived from its fbclid', async test => {
  const service = await startTestService(test)
  const click_ids = {
    fbclid: 'IwAR-AbC_1',
    gclid: 'Cj0K',
    unheard: 'x',
    ttclid: 'jane@example.com',
  }
  await service.submit(samplePurchase({ click_ids }))
  const { event, deliveries } = (await service.read('order-1001')).body
  assert.deepEqual(event.click_ids, {
    fbclid: 'IwAR-AbC_1',
    gclid: 'Cj0K',
    fbc: 'fb.1.1795262400000.IwAR-AbC_1',
  })
  assert.match(deliveries[0].explanation, / click_ids\.unheard \(.+ click_ids\.ttclid \(/)
})

it('derives the fbc once and keeps its time', async test => {
  const service = await startTestService(test)
  const landing = 'https://shop.example/?fbclid=IwAR-AbC_1&utm=x'
  await service.submit(samplePurchase({ ...PAGE, event_id: 'visit', event_source: landing }))
  const fbc = 'fb.1.1795262400000.IwAR-AbC_1'
  service.clock.advance(3_600)
  await service.deliver()
  assert.equal((await service.read('visit')).body.event.click_ids.fbc, fbc)
  await service.submit(samplePurchase({ click_ids: { fbclid: 'IwAR-AbC_1' } }))
  assert.equal((await service.read('order-1001')).body.event.session.click_ids.fbc, fbc)
})

it('keeps an fbc and an fbp from cookies', async test => {
  const service = await startTestService(test)
  const cookies = { fbc: 'fb.1.1795000000000.IwAR-AbC_1', fbp: 'fb.1.1795000000000.1234567890' }
  await service.submit(
    samplePurchase({ user_data: { em: 'a@example.com', ...cookies }, click_ids: { fbclid: 'Iw' } }),
  )
  const { click_ids } = (await service.read('order-1001')).body.event
  assert.equal(click_ids.fbp, cookies.fbp)
  assert.equal(click_ids.fbc, 'fb.1.1795262400000.Iw')
  const same = { event_id: 'same', click_ids: { ...cookies, fbclid: 'IwAR-AbC_1' } }
  await service.submit(samplePurchase(same))
  assert.equal((await service.read('same')).body.event.click_ids.fbc, cookies.fbc)
})

it('returns the session: first and last visit, first landing page and click IDs', async test => {
  const service = await startTestService(test)
  const landing = 'https://shop.example/?fbclid=First'
  await service.submit(samplePurchase({ ...PAGE, event_id: 'first', event_source: landing }))
  service.clock.advance(86_400)
  await service.submit(samplePurchase({ click_ids: { gclid: 'Second' } }))
  const session = {
    visitor_id: 'visitor-1',
    first_seen_at: '2026-11-21T12:00:00.000Z',
    last_seen_at: '2026-11-22T12:00:00.000Z',
    landing_source: landing,
    click_ids: { fbclid: 'First', fbc: 'fb.1.1795262400000.First', gclid: 'Second' },
  }
  for (const id of ['first', 'order-1001']) {
    assert.deepEqual((await service.read(id)).body.event.session, session)
  }
  const stranger = samplePurchase({ event_id: 'stranger', visitor_id: 'visitor-2' })
  await service.submit(stranger)
  assert.deepEqual((await service.read('stranger')).body.event.session.click_ids, {})
})

it('returns a visitor ID that was an email address as its digest', async test => {
  const service = await startTestService(test)
  await service.submit(samplePurchase({ visitor_id: 'Jane@Example.com' }))
  const { event } = (await service.read('order-1001')).body
  assert.equal(event.session.visitor_id, `sha256:${event.user_data_hashed.em[0]}`)
})

it('stores no session without known consent', async test => {
  const service = await startTestService(test)
  const unreadable = { consent: { ads: 'perhaps' }, click_ids: { fbclid: 'AbC' } }
  await service.submit(samplePurchase(unreadable))
  const { event } = (await service.read('order-1001')).body
  assert.equal(event.session, null)
  await service.submit(samplePurchase({ event_id: 'granted' }))
  assert.deepEqual((await service.read('granted')).body.event.session.click_ids, {})
  assert.equal((await service.read('order-1001')).body.event.session, null)
})

it('ignores a blank visitor ID and an unfilled template variable', async test => {
  const service = await startTestService(test)
  const unfilled = [' ', '\t', 'undefined', 'NULL', '[object Object]']
  for (const [index, visitor_id] of unfilled.entries()) {
    const event_id = `event-${index}`
    await service.submit(samplePurchase({ event_id, visitor_id, click_ids: { fbclid: 'AbC' } }))
    const { event, deliveries } = (await service.read(event_id)).body
    assert.equal(event.session, null, visitor_id)
    assert.match(deliveries[0].explanation, / visitor_id \(This is a placeholder, not an identif/)
  }
})

it('stamps the click of an event of three days ago with the time of the event', async test => {
  const service = await startTestService(test)
  const event_time = '2026-11-18T12:00:00.000Z'
  await service.submit(samplePurchase({ event_time, click_ids: { fbclid: 'IwAR' } }))
  const { click_ids } = (await service.read('order-1001')).body.event
  assert.equal(click_ids.fbc, `fb.1.${Date.parse(event_time)}.IwAR`)
})

it('explains an fbc that it drops and delivers the event without it', async test => {
  const service = await startTestService(test)
  const fbc = 'fb.1.1700000000000.IwAR'
  await service.submit(samplePurchase({ user_data: { em: 'a@example.com', fbc } }))
  const { event, deliveries } = (await service.read('order-1001')).body
  assert.deepEqual(event.click_ids, {})
  assert.match(deliveries[0].explanation, /user_data\.fbc \(This click is more than 90 days older/)
})
