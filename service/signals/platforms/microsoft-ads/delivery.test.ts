import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { it, type TestContext } from 'node:test'
import { samplePurchase } from '../../../../testing/fixtures/sample-events.ts'
import { startTestService, type TestService } from '../../../../testing/fixtures/service.ts'
import { listConversions, scriptPlatformFaults } from '../../../../testing/fixtures/simulator.ts'
import { readStoredText } from '../../../../testing/fixtures/stored-text.ts'
import { connectSimulated } from '../../../../testing/fixtures/two-platforms.ts'

const EMAIL = 'Jane.Roe@example.com'
const CLICK = 'cdd4afcccb1c9a4cad9544dd7e5006d5'

/** A service whose tracker sends to Meta and to Microsoft. */
async function startWithMicrosoft(test: TestContext) {
  const service = await startTestService(test)
  const { config } = await connectSimulated(service, 'microsoft_ads')
  const list = () => listConversions(service.simulatorUrl, 'microsoft_ads')
  return { service, tag: String(config.tag_id), list }
}

async function readStatus(service: TestService, eventId: string) {
  const { body } = await service.read(eventId)
  const deliveries = body.deliveries as { destination_id: string; status: string }[]
  return deliveries.find(one => one.destination_id !== service.tracker.destinationId)?.status
}

function submit(service: TestService, event_id: string, changes: Record<string, unknown> = {}) {
  return service.submit(samplePurchase({ event_id, user_data: { em: EMAIL }, ...changes }))
}

it('sends a purchase with its click and nothing raw', async test => {
  const { service, tag, list } = await startWithMicrosoft(test)
  await submit(service, 'order-1', {
    event_source: `https://shop.example/?msclkid=${CLICK}`,
    user_data: { em: EMAIL, external_id: 'User-7B', ct: 'Berlin' },
  })
  assert.equal(await service.deliver(), 2)
  const [received] = await list()
  assert.equal(received?.account, tag)
  assert.deepEqual(received?.event.userData, {
    em: hash('sha256', EMAIL.toLowerCase()),
    externalId: hash('sha256', 'user-7b'),
    msclkid: CLICK,
  })
  const text = await readStoredText(service.database)
  for (const raw of [EMAIL, EMAIL.toLowerCase(), 'User-7B']) assert.ok(!text.includes(raw), raw)
})

it('reaches each platform under its own consent', async test => {
  const { service, list } = await startWithMicrosoft(test)
  const names = ['Microsoft Advertising', 'Bing Ads', 'Microsoft UET', 'Bing UET', 'microsoft_ads']
  for (const [index, name] of names.entries()) {
    const consent = { advertising: 'granted', [name]: false }
    await submit(service, `refused-${index}`, { consent })
  }
  await submit(service, 'both', { consent: { advertising: 'granted' } })
  await submit(service, 'no-meta', { consent: { advertising: 'granted', 'Facebook Pixel': false } })
  await service.deliver()
  assert.deepEqual((await list()).map(({ event_id }) => event_id).sort(), ['both', 'no-meta'])
  assert.equal(await readStatus(service, 'refused-0'), 'skipped:consent')
})

it('fails the one bad event of a batch, and stores no value that Microsoft repeats', async test => {
  const { service, list } = await startWithMicrosoft(test)
  for (const event_id of ['a', 'b', 'c']) await submit(service, event_id)
  const detail = { propertyName: EMAIL, attemptedValue: EMAIL, errorMessage: `Invalid: ${EMAIL}` }
  const error = { code: 'ValidationError', message: EMAIL, details: [{ index: 0, ...detail }] }
  const body = JSON.stringify({ eventsReceived: 2, error })
  await scriptPlatformFaults('microsoft_ads')(service.simulatorUrl, [
    { times: 1, respond: { status: 200, body } },
  ])
  await service.deliver()
  const statuses = await Promise.all(['a', 'b', 'c'].map(id => readStatus(service, id)))
  assert.deepEqual(statuses.sort(), ['accepted', 'accepted', 'failed:permanent'])
  assert.deepEqual(await list(), [])
  assert.ok(!(await readStoredText(service.database)).includes(EMAIL))
})

it('retries an event whose answer was lost, which counts once', async test => {
  const { service, list } = await startWithMicrosoft(test)
  await scriptPlatformFaults('microsoft_ads')(service.simulatorUrl, [
    { times: 1, abort: 'after_store' },
  ])
  await submit(service, 'order-1')
  await service.deliver()
  assert.equal(await readStatus(service, 'order-1'), 'retrying')
  service.clock.advance(60)
  await service.deliver()
  assert.equal(await readStatus(service, 'order-1'), 'accepted')
  assert.deepEqual(
    (await list()).map(({ deduplicated }) => deduplicated),
    [false, true],
  )
})

it('sends no refund, and an opt-out as denied storage', async test => {
  const { service, list } = await startWithMicrosoft(test)
  const value_data = { value: '5', currency: 'EUR', order_id: '1001' }
  await submit(service, 'refund-1', { event_name: 'Refund', value_data })
  await submit(service, 'opted-out', { opt_out: true })
  await service.deliver()
  assert.equal(await readStatus(service, 'refund-1'), 'failed:permanent')
  const received = await list()
  assert.deepEqual(
    received.map(({ event_id, event }) => [event_id, event.adStorageConsent]),
    [['opted-out', 'D']],
  )
})
