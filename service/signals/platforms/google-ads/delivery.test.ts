import assert from 'node:assert/strict'
import { generateKeyPairSync, hash } from 'node:crypto'
import { it, type TestContext } from 'node:test'
import {
  findUnknownMembers,
  readWithGoogleTypes,
} from '@signalbox/graph-simulator/google-ads/google-message-types.ts'
import { samplePurchase } from '../../../../testing/fixtures/sample-events.ts'
import { startTestService, type TestService } from '../../../../testing/fixtures/service.ts'
import {
  configureGoogle,
  listGoogleReceipts,
  revokeToken,
  scriptGoogleFaults,
} from '../../../../testing/fixtures/simulator.ts'
import { readStoredText } from '../../../../testing/fixtures/stored-text.ts'
import { connectSimulated } from '../../../../testing/fixtures/two-platforms.ts'
import { pollReceipts } from '../../delivery/poll-receipts.ts'

/** The conversion actions of the shop. */
const ROUTING = { event_names: { Purchase: '456', Lead: '789' } }
const EMAIL = 'Jane.Roe+Shop@gmail.com'
const PHONE = '+1 650 555 1212'

/** A service whose tracker sends to Meta and to Google Ads. */
async function startWithGoogle(test: TestContext, givenCredential?: string) {
  const service = await startTestService(test)
  const { destinationId, config } = await connectSimulated(service, 'google_ads', {
    routing: ROUTING,
    credential: givenCredential,
  })
  return { service, destinationId, account: String(config.customer_id) }
}

async function statusesOf(service: TestService, eventId: string) {
  const { body } = await service.read(eventId)
  const deliveries = body.deliveries as { destination_id: string; status: string }[]
  const { destinationId } = service.tracker
  const google = deliveries.find(one => one.destination_id !== destinationId)
  const meta = deliveries.find(one => one.destination_id === destinationId)
  return { meta: meta?.status, google: google?.status }
}

it('sends one event to both platforms, to each with its own digests', async test => {
  const { service, account } = await startWithGoogle(test)
  const { status } = await service.submit(
    samplePurchase({
      event_source: 'https://shop.example/?gclid=the-click-id&gad_source=1&gad_campaignid=17',
      user_data: { em: EMAIL, ph: PHONE, fn: 'Jane', zp: '94025', client_user_agent: 'B/1' },
    }),
  )
  assert.equal(status, 202)
  assert.equal(await service.deliver(), 2)
  assert.deepEqual(await statusesOf(service, 'order-1001'), {
    meta: 'accepted',
    google: 'accepted',
  })

  const [received] = await listGoogleReceipts(service.simulatorUrl)
  assert.ok(received)
  assert.deepEqual([received.account, received.conversion_action], [account, '456'])
  const { event } = received
  assert.equal(event.transactionId, '1001')
  assert.deepEqual(event.userData.userIdentifiers, [
    { emailAddress: hash('sha256', 'janeroe@gmail.com') },
    { phoneNumber: hash('sha256', '+16505551212') },
  ])
  assert.equal(event.adIdentifiers.gclid, 'the-click-id')
  assert.match(event.adIdentifiers.sessionAttributes, /^[\w-]+$/)
  assert.deepEqual(event.eventDeviceInfo, { userAgent: 'B/1' })

  const { events: atMeta } = await service.received()
  const meta = JSON.stringify(atMeta)
  assert.ok(meta.includes(hash('sha256', EMAIL.toLowerCase())))
  assert.ok(!meta.includes(event.userData.userIdentifiers[0].emailAddress))
})

it('sends requests that Google types read whole', async test => {
  const { service } = await startWithGoogle(test)
  for (const event_id of ['a', 'b'])
    await service.submit(samplePurchase({ event_id, value_data: undefined }))
  await service.submit(samplePurchase({ event_id: 'lead', event_name: 'Lead' }))
  await service.deliver()
  const received = await listGoogleReceipts(service.simulatorUrl)
  const found = received.map(({ conversion_action, transaction_id }) => [
    conversion_action,
    transaction_id,
  ])
  assert.deepEqual(found.sort(), [
    ['456', 'a'],
    ['456', 'b'],
    ['789', '1001'],
  ])
  assert.equal(new Set(received.map(({ request_id }) => request_id)).size, 1)
  const request = { events: received.map(({ event }) => event) }
  assert.deepEqual(findUnknownMembers('IngestEventsRequest', request), [])
  readWithGoogleTypes('IngestEventsRequest', request)
})

it('reaches each platform under its own consent', async test => {
  const { service } = await startWithGoogle(test)
  const submit = (event_id: string, consent: Record<string, unknown>) =>
    service.submit(
      samplePurchase({
        event_id,
        value_data: { value: '1', currency: 'EUR', order_id: event_id },
        consent: { advertising: 'granted', ...consent },
      }),
    )
  await submit('both', {})
  await submit('no-google', { 'Google Ads': false })
  await submit('no-meta', { 'Facebook Pixel': false })
  await submit('counted', { ad_personalization: 'denied' })
  await service.deliver()
  const received = await listGoogleReceipts(service.simulatorUrl)
  const consents = received.map(({ transaction_id, event }) => [
    transaction_id,
    event.consent.adPersonalization,
  ])
  assert.deepEqual(consents.sort(), [
    ['both', 'CONSENT_GRANTED'],
    ['counted', 'CONSENT_DENIED'],
    ['no-meta', 'CONSENT_GRANTED'],
  ])
  const { events } = await service.received()
  assert.deepEqual(events.map(({ event_id }) => event_id).sort(), ['both', 'no-google'])
})

it('stores nothing raw of what was sent', async test => {
  const { service } = await startWithGoogle(test)
  const userData = { em: EMAIL, ph: PHONE, fn: 'Jane-Marie', ln: 'Roe-Richards', zp: '94025-1' }
  await service.submit(samplePurchase({ user_data: userData }))
  await service.deliver()
  const stored = (await readStoredText(service.database)).toLowerCase()
  for (const raw of [EMAIL, 'janeroe@gmail', '6505551212', 'jane-marie', 'roe-richards', '94025'])
    assert.ok(!stored.includes(raw.toLowerCase()), raw)
})

it('only validates the events of a destination in test mode', async test => {
  const { service, destinationId } = await startWithGoogle(test)
  const path = `/api/v1/destinations/${destinationId}/test-mode`
  const { status } = await service.request('PATCH', path, { body: { enabled: true } })
  assert.equal(status, 200)
  await service.submit(samplePurchase())
  await service.deliver()
  const [received] = await listGoogleReceipts(service.simulatorUrl)
  assert.deepEqual([received?.validate_only, received?.outcome], [true, null])
  assert.equal((await statusesOf(service, 'order-1001')).google, 'accepted')
})

it('fails the event that Google refuses, and sends the others', async test => {
  const { service } = await startWithGoogle(test)
  for (const event_id of ['bad', 'good', 'fine'])
    await service.submit(samplePurchase({ event_id, value_data: undefined, event_name: 'Lead' }))
  const respond = { status: 400, reason: 'INVALID_EVENT' }
  await scriptGoogleFaults(service.simulatorUrl, [{ match: { transaction_id: 'bad' }, respond }])
  await service.deliver()
  const google = async (eventId: string) => (await statusesOf(service, eventId)).google
  assert.deepEqual(
    [await google('bad'), await google('good'), await google('fine')],
    ['failed:permanent', 'accepted', 'accepted'],
  )
})

it('fails an event that names no one before it is sent', async test => {
  const { service } = await startWithGoogle(test)
  await service.submit(samplePurchase({ user_data: { external_id: '4711' } }))
  await service.deliver()
  const { meta, google } = await statusesOf(service, 'order-1001')
  assert.deepEqual([meta, google], ['accepted', 'failed:permanent'])
  assert.deepEqual(await listGoogleReceipts(service.simulatorUrl), [])
})

it('sends again after an answer that never came, as the same transaction', async test => {
  const { service } = await startWithGoogle(test)
  await service.submit(samplePurchase())
  await scriptGoogleFaults(service.simulatorUrl, [{ times: 1, abort: 'after_store' }])
  await service.deliver()
  service.clock.advance(3_600)
  await service.deliver()
  const received = await listGoogleReceipts(service.simulatorUrl)
  assert.deepEqual(
    received.map(({ transaction_id, outcome }) => [transaction_id, outcome]),
    [
      ['1001', 'new'],
      ['1001', 'DUPLICATE_TRANSACTION_ID'],
    ],
  )
  assert.equal((await statusesOf(service, 'order-1001')).google, 'accepted')
})

it('says in the event what Google processed of its request', async test => {
  const { service, destinationId } = await startWithGoogle(test)
  await configureGoogle(service.simulatorUrl, {
    errors: [{ transaction_id: 'bad', reason: 'INVALID_GCLID' }],
  })
  for (const event_id of ['bad', 'good'])
    await service.submit(samplePurchase({ event_id, value_data: undefined, event_name: 'Lead' }))
  await service.deliver()
  service.clock.advance(1_800)
  const polled = await pollReceipts(service.delivery, { now: service.clock.now() })
  assert.equal(polled.settled, 1)
  const { body } = await service.read('good')
  const isGoogle = (one: { destination_id: string }) => one.destination_id === destinationId
  const google = body.deliveries.find(isGoogle)
  assert.equal(google.status, 'accepted')
  assert.match(google.explanation, /processed 1 of the 2 events of it \(1 INVALID_GCLID\)/)
})

it('fails the events of a request that Google processed nothing of', async test => {
  const { service } = await startWithGoogle(test)
  const errors = [{ reason: 'OPERATING_ACCOUNT_MISMATCH_FOR_AD_IDENTIFIER' }]
  await configureGoogle(service.simulatorUrl, { errors })
  await service.submit(samplePurchase())
  await service.deliver()
  service.clock.advance(1_800)
  await pollReceipts(service.delivery, { now: service.clock.now() })
  const { meta, google } = await statusesOf(service, 'order-1001')
  assert.deepEqual([meta, google], ['accepted', 'failed:permanent'])
})

const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 })
const CLIENT_EMAIL = 'sender@shop-project.iam.gserviceaccount.com'

/** A key file of Google Cloud, which names an address of its own. */
const KEY_FILE = JSON.stringify({
  type: 'service_account',
  project_id: 'shop-project',
  private_key_id: 'key-1',
  private_key: privateKey.export({ type: 'pkcs8', format: 'pem' }),
  client_email: CLIENT_EMAIL,
  token_uri: 'http://127.0.0.1:9/token',
})

it('sends as a service account, with a token that its key is good for', async test => {
  const { service } = await startWithGoogle(test, KEY_FILE)
  await fetch(`${service.simulatorUrl}/_simulator/google/service-accounts`, {
    method: 'POST',
    body: JSON.stringify({
      client_email: CLIENT_EMAIL,
      public_key: publicKey.export({ type: 'spki', format: 'pem' }),
    }),
  })
  await service.submit(samplePurchase())
  await service.deliver()
  assert.equal((await statusesOf(service, 'order-1001')).google, 'accepted')
  const stored = (await readStoredText(service.database)).toLowerCase()
  for (const secret of [KEY_FILE.slice(120, 180), 'ya29.', 'token_uri'])
    assert.ok(!stored.includes(secret.toLowerCase()), secret)
  assert.ok(!service.logged().includes('ya29.'))
})

it('reads results with a new token once Google has refused the one before', async test => {
  const client = { client_id: 'client', client_secret: 'client-secret' }
  const credential = JSON.stringify({ kind: 'refresh_token', ...client, refresh_token: 'a-token' })
  const { service } = await startWithGoogle(test, credential)
  const { delivery, clock, simulatorUrl } = service
  await configureGoogle(simulatorUrl, { processing_seconds: 0 })
  for (const event_id of ['first', 'second']) {
    await service.submit(samplePurchase({ event_id, value_data: undefined }))
    await service.deliver()
    clock.advance(60)
  }
  const platform = delivery.platforms.find('google_ads')
  assert.ok(platform)
  const minted = await delivery.platforms.accessTokens.find(platform, credential)
  assert.ok(minted.kind === 'token')
  await revokeToken(simulatorUrl, minted.accessToken)
  const poll = () => pollReceipts(delivery, { now: clock.now() })
  clock.advance(1_800 - 120)
  assert.deepEqual(await poll(), { settled: 0, waiting: 1, more: false })
  clock.advance(60)
  assert.deepEqual(await poll(), { settled: 1, waiting: 0, more: false })
})

it('pauses the destination of a service account that Google does not know', async test => {
  const unknown = KEY_FILE.replace(CLIENT_EMAIL, `unknown-${CLIENT_EMAIL}`)
  const { service } = await startWithGoogle(test, unknown)
  await service.submit(samplePurchase())
  await service.deliver()
  assert.deepEqual(await statusesOf(service, 'order-1001'), { meta: 'accepted', google: 'queued' })
  assert.deepEqual(await listGoogleReceipts(service.simulatorUrl), [])
})
