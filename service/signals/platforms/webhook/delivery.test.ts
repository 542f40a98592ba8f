import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { it, type TestContext } from 'node:test'
import { samplePurchase } from '../../../../testing/fixtures/sample-events.ts'
import { startTestService } from '../../../../testing/fixtures/service.ts'
import { listWebhookMessages, scriptWebhookFaults } from '../../../../testing/fixtures/simulator.ts'
import { connectSimulated } from '../../../../testing/fixtures/two-platforms.ts'
import { sendErasures } from '../../erasure/send-erasures.ts'

/** A service whose tracker sends to Meta and to an endpoint of its own. */
async function startWithWebhook(test: TestContext) {
  const service = await startTestService(test)
  const { destinationId, config } = await connectSimulated(service, 'webhook')
  const statusOf = async (eventId: string) => {
    const { body } = await service.read(eventId)
    const deliveries = body.deliveries as { destination_id: string; status: string }[]
    return deliveries.find(one => one.destination_id === destinationId)?.status
  }
  return { service, destinationId, statusOf, url: String(config.url) }
}

function eventIdOf({ event_id }: { event_id: string }): string {
  return event_id
}

it('sends a signed message with what consent allows and nothing raw', async test => {
  const { service, statusOf, url } = await startWithWebhook(test)
  const submitted = samplePurchase({
    click_ids: { gclid: 'the-click-id' },
    user_data: {
      em: ' Jane.Roe@Example.com ',
      ph: '+1 650 555 1212',
      external_id: 'Customer-1',
      fn: 'Jane',
      client_ip_address: '8.8.8.8',
      client_user_agent: 'B/1',
    },
  })
  assert.equal((await service.submit(submitted)).status, 202)
  await service.deliver()
  assert.equal(await statusOf('order-1001'), 'accepted')
  const [message, ...others] = await listWebhookMessages(service.simulatorUrl)
  assert.deepEqual(others, [])
  assert.ok(message)
  assert.deepEqual([message.url, message.type, message.test], [url, 'events.accepted', false])
  const [event] = message.data.events
  assert.deepEqual(event.user, {
    email_sha256: [hash('sha256', 'jane.roe@example.com')],
    phone_sha256: [hash('sha256', '16505551212')],
    external_id_sha256: [hash('sha256', 'customer-1')],
  })
  assert.deepEqual(event.click_ids, { gclid: 'the-click-id' })
  assert.deepEqual([event.value, event.currency, event.order_id], ['19.95', 'EUR', '1001'])
  assert.deepEqual(event.consent, { ad_user_data: 'granted', ad_personalization: 'granted' })
  assert.doesNotMatch(JSON.stringify(message), /8\.8\.8\.8|B\/1|jane/i)
})

it('never gets an event whose person refused advertising or personalized ads', async test => {
  const { service } = await startWithWebhook(test)
  const submit = (event_id: string, consent: Record<string, unknown>) =>
    service.submit(samplePurchase({ event_id, consent: { advertising: 'granted', ...consent } }))
  await submit('granted', {})
  await submit('no-personalization', { ad_personalization: 'denied' })
  await submit('no-advertising', { advertising: 'denied' })
  await submit('no-google', { 'Google Ads': false })
  await service.deliver()
  const messages = await listWebhookMessages(service.simulatorUrl)
  const ids = messages.flatMap(({ data }) => data.events.map(eventIdOf))
  assert.deepEqual(ids.sort(), ['granted', 'no-google'])
})

it('repeats a batch after a lost answer under the same message ID', async test => {
  const { service, statusOf } = await startWithWebhook(test)
  await service.submit(samplePurchase())
  await scriptWebhookFaults(service.simulatorUrl, [{ times: 1, abort: 'after_store' }])
  await service.deliver()
  service.clock.advance(3_600)
  await service.deliver()
  const messages = await listWebhookMessages(service.simulatorUrl)
  assert.deepEqual(
    messages.map(({ repeat }) => repeat),
    [false, true],
  )
  assert.equal(new Set(messages.map(({ id }) => id)).size, 1)
  assert.equal(await statusOf('order-1001'), 'accepted')
})

it('halves a batch that the endpoint refuses, and fails the one event alone', async test => {
  const { service, statusOf } = await startWithWebhook(test)
  for (const event_id of ['bad', 'good', 'fine'])
    await service.submit(samplePurchase({ event_id, event_name: 'Lead', value_data: undefined }))
  const rule = { match: { event_id: 'bad' }, respond: { status: 422 } }
  await scriptWebhookFaults(service.simulatorUrl, [rule])
  await service.deliver()
  const statuses = await Promise.all(['bad', 'good', 'fine'].map(statusOf))
  assert.deepEqual(statuses, ['failed:permanent', 'accepted', 'accepted'])
})

it('pauses the destination of an endpoint that is gone, and keeps its events', async test => {
  const { service, statusOf } = await startWithWebhook(test)
  await scriptWebhookFaults(service.simulatorUrl, [{ respond: { status: 410 } }])
  await service.submit(samplePurchase())
  await service.deliver()
  assert.equal(await statusOf('order-1001'), 'queued')
})

it('tells the endpoint of an erased person, until it answers, and forgets the digest', async test => {
  const { service } = await startWithWebhook(test)
  const digest = hash('sha256', 'jane@example.com')
  const other = hash('sha256', 'john@example.com')
  await service.submit(samplePurchase())
  await service.deliver()
  const erase = (identifier_hash: string) =>
    service.request('DELETE', '/api/v1/user-data', { body: { identifier_hash } })
  assert.equal((await erase(digest)).status, 200)
  assert.equal((await erase(other)).status, 200)
  const send = () => sendErasures(service.delivery, { now: service.clock.now() })
  const countStored = async () => {
    const { rows } = await service.database.pool.query('select digest from erasure_messages')
    return rows.length
  }
  assert.deepEqual(await send(), { sent: 0, waiting: 0, givenUp: 0, more: false })
  assert.equal(await countStored(), 1)
  await scriptWebhookFaults(service.simulatorUrl, [{ times: 1, abort: 'after_store' }])
  service.clock.advance(600)
  assert.equal((await send()).waiting, 1)
  service.clock.advance(3_600)
  assert.equal((await send()).sent, 1)
  assert.equal(await countStored(), 0)
  const messages = await listWebhookMessages(service.simulatorUrl)
  const erasures = messages.filter(({ type }) => type === 'person.erased')
  assert.deepEqual(
    erasures.map(({ data, repeat }) => [data, repeat]),
    [
      [{ sha256: [digest] }, false],
      [{ sha256: [digest] }, true],
    ],
  )
})

it('gives an erasure up after a week, and tells no endpoint that got nothing', async test => {
  const { service } = await startWithWebhook(test)
  await scriptWebhookFaults(service.simulatorUrl, [{ respond: { status: 503 } }])
  await service.submit(samplePurchase())
  const erase = (email: string) =>
    service.request('DELETE', '/api/v1/user-data', {
      body: { identifier_hash: hash('sha256', email) },
    })
  await erase('jane@example.com')
  const count = async () => {
    const { rows } = await service.database.pool.query('select digest from erasure_messages')
    return rows.length
  }
  assert.equal(await count(), 0)
  await service.submit(
    samplePurchase({
      event_id: 'order-2',
      visitor_id: 'v-2',
      user_data: { em: 'joe@example.com' },
    }),
  )
  await service.deliver()
  await erase('joe@example.com')
  assert.equal(await count(), 1)
  const send = () => sendErasures(service.delivery, { now: service.clock.now() })
  service.clock.advance(3_600)
  assert.equal((await send()).waiting, 1)
  service.clock.advance(7 * 86_400)
  assert.equal((await send()).givenUp, 1)
  assert.equal(await count(), 0)
})

it('marks the messages of a destination in test mode', async test => {
  const { service, destinationId } = await startWithWebhook(test)
  const path = `/api/v1/destinations/${destinationId}/test-mode`
  const { status } = await service.request('PATCH', path, { body: { enabled: true } })
  assert.equal(status, 200)
  await service.submit(samplePurchase())
  await service.deliver()
  const [message] = await listWebhookMessages(service.simulatorUrl)
  assert.equal(message?.test, true)
})
