import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  HOLD_SECONDS,
  samplePageOrder,
  sendFromPage,
  startShop,
} from '../../../testing/fixtures/page-events.ts'
import { SHOP_ORIGIN, samplePurchase } from '../../../testing/fixtures/sample-events.ts'
import { startTestService, type TestService } from '../../../testing/fixtures/service.ts'
import { scriptFaults } from '../../../testing/fixtures/simulator.ts'
import { DAY_SECONDS } from '../../runtime/util/time.ts'

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

/** A visitor ID that the tag makes, and one that others may guess. */
const UUID = 'c0ffee00-5a1d-4e0f-8b3a-0123456789ab'
const CUSTOMER_NUMBER = '48213'
const CONSTANT_UUID = '00000000-0000-4000-8000-000000000000'
const PUBLISHED_UUID = '550e8400-e29b-41d4-a716-446655440000'
const fbcAt = (fbclid: string, seconds = 0) =>
  `fb.1.${START_MILLISECONDS + seconds * 1_000}.${fbclid}`

const OWN_FBP = `fb.1.${START_MILLISECONDS}.1098115397`
const OTHER_FBP = `fb.1.${START_MILLISECONDS}.666`

type Browsed = Record<string, unknown> & { fbclid: string | null }

/** Sends a page view from a page of the shop, a minute after what was sent before. */
async function browse(service: TestService, { fbclid, ...changes }: Browsed): Promise<void> {
  service.clock.advance(60)
  const id = `page-${service.clock.now().getTime()}`
  await sendFromPage(service, visit(id, fbclid, { user_data: undefined, ...changes }))
}

/** The purchase of the back end as the platform receives it. */
async function purchase(service: TestService, visitor_id: string): Promise<string | undefined> {
  service.clock.advance(60)
  await service.submit(samplePurchase({ visitor_id }))
  await service.deliver()
  return fbcOf(service, 'order-1001')
}

const SECRET_USED =
  /A page named another click or browser ID .+ came with the tracker secret is used/
const FIRST_USED = /A page named another click or browser ID .+: the first one of a page is used/

async function readConflict(service: TestService) {
  const { event, deliveries } = (await service.read('order-1001')).body
  return { conflict: event.session.click_conflict, explanation: deliveries[0].explanation }
}

describe('a page that names the visitor of another browser', () => {
  for (const visitor_id of [UUID, UUID.toUpperCase(), CUSTOMER_NUMBER]) {
    it(`does not replace the click of the tracker secret (${visitor_id})`, async test => {
      const service = await startTestService(test)
      await browse(service, { visitor_id, fbclid: 'stolen-before' })
      await service.submit(visit('landing', 'honest', { visitor_id }))
      await browse(service, { visitor_id, fbclid: 'stolen-after' })
      assert.equal(await purchase(service, visitor_id), fbcAt('honest', 60))
      const { conflict, explanation } = await readConflict(service)
      assert.equal(conflict, 'tracker_secret_used')
      assert.match(explanation, SECRET_USED)
      assert.doesNotMatch(explanation, /stolen|honest/)
      const { rows } = await service.database.pool.query(
        'select class, reason, attempts::integer, failed::integer from delivery_issues',
      )
      assert.deepEqual(rows, [
        { class: 'local', reason: 'page_click_ignored', attempts: 1, failed: 0 },
      ])
    })
  }

  it('does not replace the click and browser IDs of the secret, in any form', async test => {
    const service = await startTestService(test)
    const own = { fbc: fbcAt('honest'), fbp: OWN_FBP }
    await service.submit(visit('landing', null, { visitor_id: UUID, click_ids: own }))
    const forged = [
      { click_ids: { fbclid: 'stolen' } },
      { click_ids: { fbc: fbcAt('stolen', 30), fbp: OTHER_FBP } },
      { user_data: { fbc: fbcAt('stolen', 40), fbp: OTHER_FBP } },
    ]
    for (const one of forged) await browse(service, { visitor_id: UUID, fbclid: null, ...one })
    assert.equal(await purchase(service, UUID), own.fbc)
    const { events } = await service.received('event_id=order-1001')
    assert.equal((events[0] as unknown as { user_data: { fbp: string } }).user_data.fbp, OWN_FBP)
    const { event } = (await service.read('order-1001')).body
    assert.deepEqual(event.session.click_ids, own)
  })

  it('is joined by the newest click of pages where the secret named none', async test => {
    for (const visitor_id of [UUID, UUID.toUpperCase()]) {
      const service = await startTestService(test)
      await browse(service, { visitor_id, fbclid: 'first' })
      await browse(service, { visitor_id, fbclid: 'newest' })
      assert.equal(await purchase(service, visitor_id), fbcAt('newest', 120))
      const { conflict, explanation } = await readConflict(service)
      assert.equal(conflict, undefined)
      assert.doesNotMatch(explanation, /another click/)
    }
  })

  it('is joined by the first click of pages for an ID that others may guess', async test => {
    for (const visitor_id of [CUSTOMER_NUMBER, CONSTANT_UUID, PUBLISHED_UUID]) {
      const service = await startTestService(test)
      await browse(service, { visitor_id, fbclid: 'first' })
      await browse(service, { visitor_id, fbclid: 'stolen' })
      assert.equal(await purchase(service, visitor_id), fbcAt('first', 60))
      const { conflict, explanation } = await readConflict(service)
      assert.equal(conflict, 'first_page_used')
      assert.match(explanation, FIRST_USED)
    }
  })

  it('reports no conflict when a page names the same click again', async test => {
    for (const visitor_id of [UUID, CUSTOMER_NUMBER]) {
      const service = await startTestService(test)
      await browse(service, { visitor_id, fbclid: 'honest' })
      await service.submit(visit('landing', 'honest', { visitor_id }))
      await browse(service, { visitor_id, fbclid: 'honest' })
      assert.equal(await purchase(service, visitor_id), fbcAt('honest', 60))
      assert.equal((await readConflict(service)).conflict, undefined)
    }
  })

  it('counts again once the click of the secret is too old', async test => {
    const service = await startTestService(test)
    await service.submit(visit('landing', 'old', { visitor_id: UUID }))
    for (let day = 0; day < 91; day += 7) {
      service.clock.advance(7 * DAY_SECONDS)
      await browse(service, { visitor_id: UUID, fbclid: null })
    }
    await browse(service, { visitor_id: UUID, fbclid: 'newest' })
    const clickedAt = service.clock.now().getTime()
    assert.equal(await purchase(service, UUID), `fb.1.${clickedAt}.newest`)
    assert.equal((await readConflict(service)).conflict, undefined)
  })

  it('names a new first click once the stored one is too old', async test => {
    const service = await startTestService(test)
    await browse(service, { visitor_id: CUSTOMER_NUMBER, fbclid: 'old' })
    service.clock.advance(60 * DAY_SECONDS)
    await browse(service, { visitor_id: CUSTOMER_NUMBER, fbclid: null })
    service.clock.advance(31 * DAY_SECONDS)
    await browse(service, { visitor_id: CUSTOMER_NUMBER, fbclid: 'newest' })
    const clickedAt = service.clock.now().getTime()
    assert.equal(await purchase(service, CUSTOMER_NUMBER), `fb.1.${clickedAt}.newest`)
    assert.equal((await readConflict(service)).conflict, undefined)
  })

  it('changes nothing when its event is repeated', async test => {
    const service = await startTestService(test)
    const forged = visit('page-1', 'first', { visitor_id: CUSTOMER_NUMBER, user_data: undefined })
    await sendFromPage(service, forged)
    const again = { ...forged, event_source: 'https://shop.example/?fbclid=stolen' }
    const { status } = await service.request('POST', '/api/v1/events', {
      headers: { authorization: `Bearer ${service.tracker.publishableKey}`, origin: SHOP_ORIGIN },
      body: again,
    })
    assert.equal(status, 200)
    assert.equal(await purchase(service, CUSTOMER_NUMBER), fbcAt('first'))
  })

  it('sends a held event of a page with the click of the secret', async test => {
    const service = await startShop(test)
    await service.submit(visit('landing', 'honest', { visitor_id: UUID }))
    await sendFromPage(service, samplePageOrder('order-1', '5.00', { visitor_id: UUID }))
    await browse(service, { visitor_id: UUID, fbclid: 'stolen' })
    service.clock.advance(HOLD_SECONDS)
    await service.deliver()
    assert.equal(await fbcOf(service, 'order-1'), fbcAt('honest'))
  })

  it('reaches the same result when events of both are stored in one statement', async test => {
    const service = await startTestService(test)
    const at = (changes: Record<string, unknown>) => ({ user_data: undefined, ...changes })
    const visitors = [UUID, CUSTOMER_NUMBER]
    await Promise.all(
      visitors.flatMap(visitor_id => [
        sendFromPage(service, visit(`a-${visitor_id}`, 'stolen-1', at({ visitor_id }))),
        service.submit(visit(`b-${visitor_id}`, 'honest', { visitor_id })),
        sendFromPage(service, visit(`c-${visitor_id}`, 'stolen-2', at({ visitor_id }))),
      ]),
    )
    for (const [index, visitor_id] of visitors.entries()) {
      const event_id = `order-${index}`
      service.clock.advance(60)
      await service.submit(samplePurchase({ event_id, visitor_id }))
      await service.deliver()
      assert.equal(await fbcOf(service, event_id), fbcAt('honest'))
    }
  })

  it('reads sessions of earlier versions, and loses to the secret there too', async test => {
    const service = await startTestService(test)
    const { pool } = service.database
    const writeAsEarlierVersion = (fbclid: string) =>
      pool.query(
        `insert into sessions (tracker_id, visitor_id, first_seen_at, last_seen_at, click_ids)
         values ($1, $2, $3, $3, $4)
         on conflict (tracker_id, visitor_id) do update set
           click_ids = (sessions.click_ids::jsonb || excluded.click_ids::jsonb)::json`,
        [
          service.tracker.trackerId,
          UUID,
          service.clock.now(),
          JSON.stringify({ fbclid, fbc: fbcAt(fbclid) }),
        ],
      )
    await writeAsEarlierVersion('earlier')
    assert.equal(await purchase(service, UUID), fbcAt('earlier'))
    await service.submit(visit('landing', 'honest', { visitor_id: UUID }))
    const clickedAt = service.clock.now().getTime()
    await writeAsEarlierVersion('beside')
    service.clock.advance(60)
    await service.submit(samplePurchase({ event_id: 'next', visitor_id: UUID }))
    await service.deliver()
    assert.equal(await fbcOf(service, 'next'), `fb.1.${clickedAt}.honest`)
  })
})
