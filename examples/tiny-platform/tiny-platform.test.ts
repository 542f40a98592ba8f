import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { it, type TestContext } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { provisionDestination } from '../../service/program/provisioning/provision-tracker.ts'
import { sampleOutboundEvent, samplePurchase } from '../../testing/fixtures/sample-events.ts'
import { startTestService, type TestService } from '../../testing/fixtures/service.ts'
import { readStoredText } from '../../testing/fixtures/stored-text.ts'
import { ROUTES_MILLISECONDS } from '../../testing/fixtures/two-platforms.ts'
import { type AnswerOutcome, testPlatformConformance } from '../../testing/platform-conformance.ts'
import { tinyPlatform } from './tiny-platform.ts'
import { startTinyServer } from './tiny-server.ts'

const STATUSES: Record<AnswerOutcome, number> = {
  accepted: 204,
  retry: 503,
  throttle: 429,
  auth: 401,
  config: 404,
  permanent: 422,
}

testPlatformConformance('tiny', {
  create: baseUrl => tinyPlatform({ baseUrl }),
  async start(test) {
    const { url: baseUrl, statuses, close } = await startTinyServer()
    test.after(close)
    return { baseUrl, answerWith: async outcome => void statuses.push(STATUSES[outcome]) }
  },
  config: { board: 'sales' },
  event: sampleOutboundEvent({ digests: { person: ['a'.repeat(64)] } }),
})

const EMAIL = 'jane@example.com'
const META_DIGEST = hash('sha256', EMAIL)
const TINY_DIGEST = hash('sha256', `tiny:${EMAIL}`)
/** A service with the tiny platform in addition to those of the registry. */
async function serviceWithTiny(test: TestContext) {
  const tiny = await startTinyServer()
  test.after(tiny.close)
  const morePlatforms = [tinyPlatform({ baseUrl: tiny.url })]
  return { tiny, service: await startTestService(test, { morePlatforms }) }
}

async function connectTiny({ database, delivery, tracker, clock }: TestService) {
  const destinationId = await provisionDestination(database, {
    trackerId: tracker.trackerId,
    at: clock.now(),
    credentialKeys: delivery.credentialKeys,
    connected: { platform: 'tiny', config: { board: 'sales' }, accessToken: 'tiny-key' },
  })
  await delay(ROUTES_MILLISECONDS)
  return destinationId
}

async function deliveriesOf(service: TestService, eventId: string) {
  const { body } = await service.read(eventId)
  return body.deliveries as { destination_id: string; status: string; explanation: string }[]
}

it('delivers an event to both platforms, to each with its own digests', async test => {
  const { tiny, service } = await serviceWithTiny(test)
  const destinationId = await connectTiny(service)
  const { status } = await service.submit(samplePurchase({ user_data: { em: EMAIL } }))
  assert.equal(status, 202)
  await service.deliver()

  const deliveries = await deliveriesOf(service, 'order-1001')
  assert.deepEqual(
    deliveries.map(delivery => delivery.status),
    ['accepted', 'accepted'],
  )
  assert.ok(deliveries.some(delivery => delivery.destination_id === destinationId))
  const { events } = await service.received()
  assert.equal(events.length, 1)
  assert.ok(JSON.stringify(events).includes(META_DIGEST))
  assert.ok(!JSON.stringify(events).includes(TINY_DIGEST))
  const seconds = service.clock.now().getTime() / 1_000
  assert.deepEqual(tiny.requests, [
    {
      board: 'sales',
      key: 'tiny-key',
      test: null,
      sales: [['order-1001', 'Purchase', Math.floor(seconds), TINY_DIGEST, '19.95']],
    },
  ])
})

it('writes no raw identifier to the disk for either platform', async test => {
  const { service } = await serviceWithTiny(test)
  await connectTiny(service)
  await service.submit(samplePurchase({ user_data: { em: EMAIL, fn: 'Janet-Louise' } }))
  await service.deliver()
  const text = await readStoredText(service.database)
  assert.ok(text.includes(Buffer.from(TINY_DIGEST, 'hex').toString('base64url')))
  for (const raw of [EMAIL, 'Janet-Louise', 'janetlouise']) assert.ok(!text.includes(raw), raw)
})

it('sends only newer events to a destination that is connected later', async test => {
  const { tiny, service } = await serviceWithTiny(test)
  await service.submit(samplePurchase({ event_id: 'before' }))
  const destinationId = await connectTiny(service)
  await service.submit(samplePurchase({ event_id: 'after' }))
  await service.deliver()
  const sent = tiny.requests.flatMap(({ sales }) => sales.map(([eventId]) => eventId))
  assert.deepEqual(sent, ['after'])
  const before = await deliveriesOf(service, 'before')
  assert.ok(before.every(delivery => delivery.destination_id !== destinationId))
})

it('fails a delivery without identity for its platform, with a reason', async test => {
  const { tiny, service } = await serviceWithTiny(test)
  await service.submit(samplePurchase())
  const destinationId = await connectTiny(service)
  // The state that a process without the plug-in leaves.
  await service.database.pool.query(
    'update delivery_queue set destination_id = $1::uuid where event_id = $2::text',
    [destinationId, 'order-1001'],
  )
  await service.deliver()
  const [delivery] = await deliveriesOf(service, 'order-1001')
  assert.equal(delivery?.status, 'failed:permanent')
  assert.match(delivery?.explanation ?? '', /accepted without identifiers for this platform/)
  assert.deepEqual(tiny.requests, [])
})

it('keeps the events of a platform without a plug-in until a process has it', async test => {
  const { tiny, service } = await serviceWithTiny(test)
  await connectTiny(service)
  await service.submit(samplePurchase())
  const { platforms } = service.delivery
  service.delivery.platforms = (await startTestService(test)).delivery.platforms
  await service.deliver()
  const statuses = async () =>
    (await deliveriesOf(service, 'order-1001')).map(({ status }) => status).sort()
  assert.deepEqual(await statuses(), ['accepted', 'queued'])
  service.delivery.platforms = platforms
  service.clock.advance(3_600)
  await service.deliver()
  assert.deepEqual(await statuses(), ['accepted', 'accepted'])
  assert.equal(tiny.requests.length, 1)
})

it('sends a test purchase with the digest of the event itself', async test => {
  const { tiny, service } = await serviceWithTiny(test)
  const path = `/api/v1/destinations/${await connectTiny(service)}`
  const switched = await service.request('PATCH', `${path}/test-mode`, { body: { enabled: true } })
  assert.equal(switched.status, 200)
  assert.equal(switched.body.destination.type, 'tiny')
  const { board, test_event_code } = switched.body.destination.config
  assert.equal(board, 'sales')
  const { status } = await service.request('POST', `${path}/test-purchase`, { body: {} })
  assert.equal(status, 200)
  assert.equal(tiny.requests[0]?.test, test_event_code)
})
