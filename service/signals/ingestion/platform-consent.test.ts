import assert from 'node:assert/strict'
import { it } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { samplePurchase } from '../../../testing/fixtures/sample-events.ts'
import {
  connectTiny,
  ROUTES_MILLISECONDS,
  readStatuses,
  startWithTwo,
} from '../../../testing/fixtures/two-platforms.ts'

const purchase = (event_id: string, consent: Record<string, unknown>) =>
  samplePurchase({ event_id, consent: { advertising: 'granted', ...consent } })

it('skips the platform that is refused, and reaches the other one', async test => {
  const { tiny, service } = await startWithTwo(test)
  await connectTiny(service)
  const answers = [
    await service.submit(purchase('both', {})),
    await service.submit(purchase('no-meta', { 'Facebook Pixel': false })),
    await service.submit(purchase('no-tiny', { 'Google Ads': false })),
  ]
  assert.deepEqual(
    answers.map(({ status, body }) => [status, body.notices]),
    [
      [202, []],
      [202, [refusedNotice('consent.Facebook Pixel', 'meta')]],
      [202, [refusedNotice('consent.Google Ads', 'tiny')]],
    ],
  )
  await service.deliver()
  assert.deepEqual(await readStatuses(service, 'both'), ['meta accepted', 'tiny accepted'])
  assert.deepEqual(await readStatuses(service, 'no-meta'), [
    'meta skipped:consent consent_refused_for_platform',
    'tiny accepted',
  ])
  assert.deepEqual(await readStatuses(service, 'no-tiny'), [
    'meta accepted',
    'tiny skipped:consent consent_refused_for_platform',
  ])
  const { events } = await service.received()
  assert.deepEqual(events.map(({ event_id }) => event_id).sort(), ['both', 'no-tiny'])
  assert.equal(tiny.requests.flatMap(({ sales }) => sales).length, 2)
})

function refusedNotice(field: string, platform: string) {
  const message = `The ${field} field refuses ${platform}: the event is not sent there.`
  return { code: 'consent_refused_for_platform', field, message }
}

it('keeps no click ID of a refused platform, whether it has a plug-in or not', async test => {
  const { service } = await startWithTwo(test)
  const clicks = {
    click_ids: { _ttp: 'tiktok-browser', rdt_cid: 'reddit-click', gclid: 'google-click' },
    event_source: 'https://shop.example/?ttclid=tiktok-click&msclkid=microsoft-click',
  }
  const { body } = await service.submit({
    ...purchase('no-tiktok', { 'TikTok Advertising': false, vendors: { reddit: false } }),
    ...clicks,
  })
  assert.deepEqual(
    body.notices
      .filter(({ code }: { code: string }) => code === 'member_dropped')
      .map(({ field }: { field: string }) => field)
      .sort(),
    ['click_ids.rdt_cid', 'click_ids.ttp', 'event_source'],
  )
  await service.submit({ ...purchase('no-social', { 'social media': false }), ...clicks })
  await service.submit({ ...purchase('all', {}), ...clicks, visitor_id: 'visitor-2' })
  const { rows } = await service.database.pool.query(
    'select visitor_id, secret_click_ids from sessions order by visitor_id',
  )
  const kept = { gclid: 'google-click', msclkid: 'microsoft-click' }
  const [refusing, other] = rows.map(row => row.secret_click_ids)
  assert.deepEqual(refusing, kept)
  const all = { ttp: 'tiktok-browser', ttclid: 'tiktok-click', rdt_cid: 'reddit-click' }
  assert.deepEqual(other, { ...kept, ...all })
  const { event } = (await service.read('no-tiktok')).body
  assert.deepEqual(event.click_ids, kept)
  assert.doesNotMatch(JSON.stringify(event), /tiktok-(click|browser)|reddit-click/)
})

it('says in the explanation and in the decision who was refused and by what', async test => {
  const { service } = await startWithTwo(test)
  const tinyId = await connectTiny(service)
  await service.submit(purchase('no-tiny', { vendors: { google: false } }))
  await service.deliver()
  const { body } = await service.read('no-tiny')
  const { explanation } = body.deliveries.find(
    (each: { destination_id: string }) => each.destination_id === tinyId,
  )
  assert.match(explanation, /^Not sent: consent\.vendors\.google refuses this platform/)
  assert.deepEqual(body.event.consent.decision.platforms, {
    tiny: { outcome: 'denied', reason: 'consent_denied', field: 'consent.vendors.google' },
  })
})

it('refuses the event only where no destination is left', async test => {
  const { service } = await startWithTwo(test)
  const refused = { 'Facebook Pixel': false }
  const alone = await service.submit(purchase('alone', refused))
  assert.equal(alone.status, 422)
  assert.deepEqual(Object.keys(alone.body.errors), ['consent.Facebook Pixel'])
  await connectTiny(service)
  assert.equal((await service.submit(purchase('alone', refused))).status, 202)
  const both = await service.submit(purchase('none', { ...refused, 'Google Ads': false }))
  assert.equal(both.status, 422)
  const whole = await service.submit(purchase('whole', { marketing: 'denied' }))
  assert.equal(whole.status, 422)
  // An inactive destination gets its events later, so it counts.
  const { database, tracker } = service
  await database.pool.query(
    `update destinations set status = 'inactive' where tracker_id = $1 and type = 'tiny'`,
    [tracker.trackerId],
  )
  await delay(ROUTES_MILLISECONDS)
  assert.equal((await service.submit(purchase('later', refused))).status, 202)
  assert.deepEqual(await readStatuses(service, 'later'), [
    'meta skipped:consent consent_refused_for_platform',
    'tiny queued accepted_for_delivery',
  ])
})

it('takes the event of a tracker without destinations, unless advertising is refused', async test => {
  const { service } = await startWithTwo(test)
  await service.database.pool.query('delete from destinations')
  await delay(ROUTES_MILLISECONDS)
  const refused = await service.submit(purchase('nowhere', { 'Facebook Pixel': false }))
  assert.equal(refused.status, 202)
  const whole = await service.submit(purchase('whole', { marketing: 'denied' }))
  assert.equal(whole.status, 422)
})

it('stores the identity of the platforms that may get the event, and of no other', async test => {
  const { service } = await startWithTwo(test)
  await connectTiny(service)
  await service.submit(purchase('no-meta', { 'Facebook Pixel': false }))
  const { rows } = await service.database.pool.query('select user_data from event_payloads')
  const stored: string = rows[0].user_data
  assert.ok(stored.includes("'of':'xt'"), stored)
  assert.ok(!stored.includes("'meta'"), stored)
})
