import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { it } from 'node:test'
import { samplePurchase } from '../../../testing/fixtures/sample-events.ts'
import type { TestService } from '../../../testing/fixtures/service.ts'
import { connectTiny, readStatuses, startWithTwo } from '../../../testing/fixtures/two-platforms.ts'
import { createOfflinePlatforms } from '../platforms/registry.ts'

const PLATFORM_NAMES = [...createOfflinePlatforms().names].join(', ')

const EMAIL = 'jane@example.com'
const WITHDRAWN = 'skipped:consent consent_withdrawn'
const QUEUED = 'queued accepted_for_delivery'

async function submit(service: TestService, event: Record<string, unknown>) {
  const answer = await service.submit(samplePurchase(event))
  assert.equal(answer.status, 202, JSON.stringify(answer.body))
  return answer
}

function withdraw(service: TestService, members: Record<string, unknown>) {
  return service.submit({
    event_id: 'withdrawal-1',
    event_name: 'consent_withdrawal',
    consent_basis: 'legitimate_interest',
    ...members,
  })
}

it('ends the deliveries to the platforms that it names, waiting ones and later ones', async test => {
  const { service } = await startWithTwo(test)
  await connectTiny(service)
  await submit(service, { event_id: 'before' })
  const withdrawn_platforms = ['tiny']
  const { status } = await withdraw(service, { visitor_id: 'visitor-1', withdrawn_platforms })
  assert.equal(status, 202)
  assert.deepEqual(await readStatuses(service, 'before'), [`meta ${QUEUED}`, `tiny ${WITHDRAWN}`])
  await submit(service, { event_id: 'after', user_data: undefined })
  // A later event names the person by the address that the visitor's event carried.
  await submit(service, { event_id: 'by-address', visitor_id: undefined })
  await submit(service, {
    event_id: 'other',
    visitor_id: 'visitor-2',
    user_data: { em: 'joe@example.com' },
  })
  for (const id of ['after', 'by-address']) {
    assert.deepEqual(await readStatuses(service, id), [`meta ${QUEUED}`, `tiny ${WITHDRAWN}`], id)
  }
  assert.deepEqual(await readStatuses(service, 'other'), [`meta ${QUEUED}`, `tiny ${QUEUED}`])
  const { body } = await service.read('withdrawal-1')
  assert.deepEqual(body.event.consent.decision.withdrawal.platforms, ['tiny'])
})

/** As a process of another version leaves it, which plans without looking at the platform. */
async function queueAgain({ database }: TestService): Promise<void> {
  const columns = 'tracker_id, created_at, id, event_id, space, destination_id, is_test'
  await database.pool.query(
    `with moved as (
       delete from deliveries where status_reason = 'consent_withdrawn' returning *
     )
     insert into delivery_queue (${columns}, status, status_reason, next_attempt_at)
     select ${columns}, 'queued', 'accepted_for_delivery', created_at from moved`,
  )
}

it('is read again at the moment of sending', async test => {
  const { service, tiny } = await startWithTwo(test)
  await connectTiny(service)
  await submit(service, { event_id: 'waiting' })
  await withdraw(service, { visitor_id: 'visitor-1', withdrawn_platforms: ['tiny'] })
  await queueAgain(service)
  await service.deliver()
  assert.deepEqual(await readStatuses(service, 'waiting'), ['meta accepted', `tiny ${WITHDRAWN}`])
  assert.deepEqual(tiny.requests, [])
})

it('reopens with a consent that is captured later, and without names ends all of them', async test => {
  const { service } = await startWithTwo(test)
  await connectTiny(service)
  await withdraw(service, { visitor_id: 'visitor-1', withdrawn_platforms: ['tiny', 'meta'] })
  await submit(service, { event_id: 'both' })
  assert.deepEqual(await readStatuses(service, 'both'), [`meta ${WITHDRAWN}`, `tiny ${WITHDRAWN}`])
  const captured = new Date(service.clock.now().getTime() + 600_000)
  service.clock.advance(660_000)
  const consent = { advertising: 'granted', captured_at: captured.toISOString() }
  await submit(service, { event_id: 'reopened', consent })
  assert.deepEqual(await readStatuses(service, 'reopened'), [`meta ${QUEUED}`, `tiny ${QUEUED}`])
  await withdraw(service, { event_id: 'withdrawal-2', visitor_id: 'visitor-1' })
  assert.deepEqual(await readStatuses(service, 'reopened'), [
    `meta ${WITHDRAWN}`,
    `tiny ${WITHDRAWN}`,
  ])
})

it('reaches a person by a digest alone, and stores keyed digests only', async test => {
  const { service } = await startWithTwo(test)
  await connectTiny(service)
  const em = hash('sha256', EMAIL)
  const user_data = { em }
  await withdraw(service, { user_data, withdrawn_platforms: ['tiny'] })
  await withdraw(service, {
    event_id: 'withdrawal-2',
    visitor_id: 'visitor-9',
    withdrawn_platforms: ['tiny'],
  })
  await submit(service, { event_id: 'named' })
  assert.deepEqual(await readStatuses(service, 'named'), [`meta ${QUEUED}`, `tiny ${WITHDRAWN}`])
  const { rows } = await service.database.pool.query('select visitor_id from consent_withdrawals')
  const keys = rows.map(row => row.visitor_id)
  assert.ok(keys.length > 2)
  for (const key of keys) assert.match(key, /^ keyed:$|^ on:tiny:[\da-f]{64}$/)
})

it('is completed when its event is repeated', async test => {
  const { service } = await startWithTwo(test)
  await connectTiny(service)
  await submit(service, { event_id: 'waiting' })
  const members = { visitor_id: 'visitor-1', withdrawn_platforms: ['tiny'] }
  await withdraw(service, members)
  await queueAgain(service)
  assert.deepEqual(await readStatuses(service, 'waiting'), [`meta ${QUEUED}`, `tiny ${QUEUED}`])
  assert.equal((await withdraw(service, members)).status, 200)
  assert.deepEqual(await readStatuses(service, 'waiting'), [`meta ${QUEUED}`, `tiny ${WITHDRAWN}`])
})

it('names a platform that is known', async test => {
  const { service } = await startWithTwo(test)
  const refused = await withdraw(service, {
    visitor_id: 'visitor-1',
    withdrawn_platforms: ['tiny', 'myspace'],
  })
  assert.equal(refused.status, 422)
  assert.deepEqual(refused.body.errors, {
    'withdrawn_platforms.1': [
      `The withdrawn_platforms.1 field must be one of ${PLATFORM_NAMES}, tiny.`,
    ],
  })
  for (const withdrawn_platforms of [[], 'tiny', [1], Array(21).fill('tiny')]) {
    const { status } = await withdraw(service, { visitor_id: 'visitor-1', withdrawn_platforms })
    assert.equal(status, 422, JSON.stringify(withdrawn_platforms))
  }
})

it('counts in a withdrawal only, and says so elsewhere', async test => {
  const { service } = await startWithTwo(test)
  await connectTiny(service)
  const { body } = await submit(service, { event_id: 'order', withdrawn_platforms: ['tiny'] })
  const message =
    'The withdrawn_platforms field was ignored: it counts in a consent_withdrawal only.'
  const field = 'withdrawn_platforms'
  assert.deepEqual(body.notices, [{ code: 'member_ignored', field, message }])
  assert.deepEqual(await readStatuses(service, 'order'), [`meta ${QUEUED}`, `tiny ${QUEUED}`])
})

const FBP = 'fb.1.1763720000000.1234567890'

async function readSessionClickIds({ database }: TestService) {
  const { rows } = await database.pool.query(
    `select click_ids, secret_click_ids from sessions where visitor_id = 'visitor-1'`,
  )
  return { ...rows[0]?.click_ids, ...rows[0]?.secret_click_ids }
}

it('forgets what the platform left at the visitor, until a consent that is captured later', async test => {
  const { service } = await startWithTwo(test)
  await connectTiny(service)
  await submit(service, { event_id: 'before', click_ids: { gclid: 'old', fbp: FBP } })
  assert.deepEqual(await readSessionClickIds(service), { gclid: 'old', fbp: FBP })
  const members = { visitor_id: 'visitor-1', withdrawn_platforms: ['tiny'] }
  await withdraw(service, members)
  assert.deepEqual(await readSessionClickIds(service), { fbp: FBP })
  // It is delivered to the other platform, and leaves no click of this one.
  await submit(service, { event_id: 'after', click_ids: { gclid: 'after', fbp: FBP } })
  assert.deepEqual(await readSessionClickIds(service), { fbp: FBP })
  const captured = new Date(service.clock.now().getTime() + 600_000)
  service.clock.advance(660_000)
  const consent = { advertising: 'granted', captured_at: captured.toISOString() }
  await submit(service, { event_id: 'reopened', consent, click_ids: { gclid: 'new' } })
  assert.deepEqual(await readSessionClickIds(service), { gclid: 'new', fbp: FBP })
  // A repeated withdrawal is the old one.
  assert.equal((await withdraw(service, members)).status, 200)
  assert.deepEqual(await readSessionClickIds(service), { gclid: 'new', fbp: FBP })
  await withdraw(service, { event_id: 'withdrawal-2', visitor_id: 'visitor-1' })
  assert.deepEqual(await readSessionClickIds(service), {})
})
