import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { it, type TestContext } from 'node:test'
import { tinyPlatform } from '../../../examples/tiny-platform/tiny-platform.ts'
import { encodeEarlierUserData } from '../../../testing/earlier-version/accept-events.ts'
import { readIdentityLikeEarlierVersion } from '../../../testing/earlier-version/read-identity.ts'
import { samplePurchase } from '../../../testing/fixtures/sample-events.ts'
import { startTestService, type TestService } from '../../../testing/fixtures/service.ts'
import { acceptIdentity } from '../ingestion/accept-identity.ts'
import { PlatformRegistry } from '../platforms/registry.ts'

const EMAIL = 'jane@example.com'
const DIGEST = hash('sha256', EMAIL)
const TINY = tinyPlatform({ baseUrl: 'http://127.0.0.1:9' })

async function storedUserData({ database }: TestService): Promise<string> {
  const { rows } = await database.pool.query('select user_data from event_payloads')
  return rows[0].user_data
}

/** Delivers with a registry whose default is another platform than Meta. */
async function deliverWithOtherDefault(service: TestService): Promise<number> {
  const { platforms } = service.delivery
  service.delivery.platforms = new PlatformRegistry([TINY, ...platforms.all])
  return service.deliver()
}

async function submitPurchase(test: TestContext): Promise<TestService> {
  const service = await startTestService(test)
  const { status } = await service.submit(samplePurchase({ user_data: { em: EMAIL } }))
  assert.equal(status, 202)
  return service
}

it('marks the identity of a new event with its platform, readable by the version before', async test => {
  const service = await submitPurchase(test)
  const stored = await storedUserData(service)
  assert.ok(stored.endsWith(",'of':'m'}"), stored)
  assert.deepEqual(readIdentityLikeEarlierVersion(stored).digests.em, [DIGEST])
})

it('sends a row of an earlier version to Meta, whichever platform is the default', async test => {
  const service = await submitPurchase(test)
  await service.database.pool.query('update event_payloads set user_data = $1::json', [
    encodeEarlierUserData(DIGEST),
  ])
  assert.equal(await deliverWithOtherDefault(service), 1)
  const { events } = await service.received()
  assert.equal(events.length, 1)
  assert.ok(JSON.stringify(events).includes(DIGEST))
})

it('never sends the identity of another default platform to Meta', async test => {
  const service = await submitPurchase(test)
  const stored = await storedUserData(service)
  await service.database.pool.query('update event_payloads set user_data = $1::json', [
    JSON.stringify(stored.replace(",'of':'m'}", ",'of':'t'}")),
  ])
  await deliverWithOtherDefault(service)
  const { body } = await service.read('order-1001')
  assert.equal(body.deliveries[0].status, 'failed:permanent')
  assert.match(body.deliveries[0].explanation, /accepted without identifiers for this platform/)
  assert.deepEqual((await service.received()).events, [])
})

it('marks what acceptance makes with the platform that is the default then', async test => {
  const { delivery } = await startTestService(test)
  const at = new Date('2026-11-21T12:00:00.000Z')
  const identity = acceptIdentity(new PlatformRegistry([TINY, ...delivery.platforms.all]), {
    userData: { em: EMAIL },
    clickIds: {},
    eventSource: undefined,
    eventTime: at,
    observedAt: at,
    edge: null,
  })
  assert.equal(identity.identityMark, 'xt')
  assert.deepEqual(identity.platforms.meta?.digests, { em: [DIGEST] })
})
