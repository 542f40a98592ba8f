import assert from 'node:assert/strict'
import { it } from 'node:test'
import { samplePurchase } from '../../../testing/fixtures/sample-events.ts'
import { startTestService, type TestService } from '../../../testing/fixtures/service.ts'
import { scriptFaults } from '../../../testing/fixtures/simulator.ts'

const START_MILLISECONDS = Date.parse('2026-11-21T12:00:00.000Z')

/** A page view, with the click id in its URL when there is one. */
function visit(event_id: string, fbclid: string | null, changes: Record<string, unknown> = {}) {
  const query = fbclid === null ? '' : `?fbclid=${fbclid}`
  return samplePurchase({
    event_id,
    event_name: 'PageView',
    event_source: `https://shop.example/${query}`,
    value_data: undefined,
    ...changes,
  })
}

async function fbcOf(service: TestService, eventId: string): Promise<string | undefined> {
  const { events } = await service.received(`event_id=${eventId}`)
  const last = events.at(-1) as { user_data: { fbc?: string } } | undefined
  assert.ok(last, `${eventId} was not received`)
  return last.user_data.fbc
}

it('joins a purchase to the click of the visit, with the time of the click', async test => {
  const service = await startTestService(test)
  await service.submit(visit('landing', 'IwAR_click'))
  service.clock.advance(600)
  await service.submit(samplePurchase())
  await service.deliver()
  const expected = `fb.1.${START_MILLISECONDS}.IwAR_click`
  assert.equal(await fbcOf(service, 'landing'), expected)
  assert.equal(await fbcOf(service, 'order-1001'), expected)
})

it('keeps the first time of a click that is in the URL of every page', async test => {
  const service = await startTestService(test)
  await service.submit(visit('landing', 'IwAR_click'))
  service.clock.advance(60)
  await service.submit(visit('second-page', 'IwAR_click'))
  await service.deliver()
  assert.equal(await fbcOf(service, 'second-page'), `fb.1.${START_MILLISECONDS}.IwAR_click`)
})

it('prefers the click that came with the event itself', async test => {
  const service = await startTestService(test)
  await service.submit(visit('landing', 'first'))
  service.clock.advance(60)
  await service.submit(visit('other', 'second'))
  await service.deliver()
  assert.equal(await fbcOf(service, 'other'), `fb.1.${START_MILLISECONDS + 60_000}.second`)
})

it('ignores a click that came after the event, before its retry', async test => {
  const service = await startTestService(test)
  await scriptFaults(service.simulatorUrl, [{ times: 1, respond: { status: 503, code: 2 } }])
  await service.submit(samplePurchase())
  await service.deliver()
  service.clock.advance(3_600)
  await service.submit(visit('later', 'too-late'))
  await service.deliver()
  assert.equal(await fbcOf(service, 'order-1001'), undefined)
  assert.equal(await fbcOf(service, 'later'), `fb.1.${START_MILLISECONDS + 3_600_000}.too-late`)
})

it('joins no click of another visitor, and none without a visitor id', async test => {
  const service = await startTestService(test)
  await service.submit(visit('landing', 'IwAR_click'))
  await service.submit(samplePurchase({ event_id: 'stranger', visitor_id: 'visitor-2' }))
  await service.submit(samplePurchase({ event_id: 'anonymous', visitor_id: undefined }))
  await service.deliver()
  assert.equal(await fbcOf(service, 'stranger'), undefined)
  assert.equal(await fbcOf(service, 'anonymous'), undefined)
})

it('joins the browser ID of an earlier visit', async test => {
  const service = await startTestService(test)
  const fbp = `fb.1.${START_MILLISECONDS}.1098115397`
  await service.submit(visit('landing', null, { click_ids: { fbp } }))
  await service.submit(samplePurchase())
  await service.deliver()
  const { events } = await service.received('event_id=order-1001')
  assert.equal((events[0] as unknown as { user_data: { fbp: string } }).user_data.fbp, fbp)
})
