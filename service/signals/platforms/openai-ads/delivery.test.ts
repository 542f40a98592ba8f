import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { it, type TestContext } from 'node:test'
import { expireLeases } from '../../../../testing/fixtures/deliveries.ts'
import { samplePageView, samplePurchase } from '../../../../testing/fixtures/sample-events.ts'
import { startTestService, type TestService } from '../../../../testing/fixtures/service.ts'
import { listConversions, scriptPlatformFaults } from '../../../../testing/fixtures/simulator.ts'
import { readStoredText } from '../../../../testing/fixtures/stored-text.ts'
import { connectSimulated, readStatuses } from '../../../../testing/fixtures/two-platforms.ts'

const EMAIL = 'Jane.Roe@example.com'

/** A service whose tracker sends to Meta and to OpenAI Ads. */
async function startWithOpenai(
  test: TestContext,
  options?: Parameters<typeof connectSimulated>[2],
) {
  const service = await startTestService(test)
  const { config } = await connectSimulated(service, 'openai_ads', options)
  return { service, pixel: String(config.pixel_id) }
}

/** Its status and reason at OpenAI Ads, after those at Meta. */
async function readStatus(service: TestService, eventId: string): Promise<string> {
  const [, found = ''] = await readStatuses(service, eventId)
  return found.replace(/^openai_ads /, '')
}

const received = ({ simulatorUrl }: TestService) => listConversions(simulatorUrl, 'openai_ads')

it('sends a purchase in minor units with its click, and keeps nothing raw', async test => {
  const { service, pixel } = await startWithOpenai(test)
  const { status } = await service.submit(
    samplePurchase({
      event_source: 'https://shop.example/checkout?oppref=Opp_4711',
      click_ids: { obref: 'Ob_4711' },
      user_data: {
        em: EMAIL,
        fn: 'Zoë-Ann',
        external_id: 'Customer-aB',
        ct: 'Springfield',
        zp: 'K1A 0B1',
        country: 'CA',
        client_user_agent: 'B/1',
      },
      value_data: {
        value: '129.99',
        currency: 'USD',
        order_id: '1001',
        contents: [{ id: 'sku-1', quantity: 2, item_price: 9.95, title: 'Lamp' }],
      },
    }),
  )
  assert.equal(status, 202)
  assert.equal(await service.deliver(), 2)
  const [one] = await received(service)
  assert.ok(one)
  assert.equal(one.account, pixel)
  const { event } = one
  assert.deepEqual(
    [event.type, event.action_source, event.oppref],
    ['order_created', 'web', 'Opp_4711'],
  )
  assert.equal(event.opt_out, undefined)
  assert.deepEqual(event.user, {
    emails_sha256: [hash('sha256', EMAIL.toLowerCase())],
    external_ids_sha256: [hash('sha256', 'Customer-aB')],
    first_names_sha256: [hash('sha256', 'zoëann')],
    user_agent: 'B/1',
    obref: 'Ob_4711',
  })
  assert.deepEqual(event.data, {
    type: 'contents',
    amount: 12_999,
    currency: 'USD',
    contents: [{ id: 'sku-1', name: 'Lamp', quantity: 2, amount: 995, currency: 'USD' }],
  })
  const text = (await readStoredText(service.database)).toLowerCase()
  for (const raw of [EMAIL, 'Customer-aB', 'Zoë', 'Springfield', 'K1A']) {
    assert.ok(!text.includes(raw.toLowerCase()), raw)
  }
})

it('reaches each platform under its own consent, by any name of OpenAI', async test => {
  const { service } = await startWithOpenai(test)
  const submit = (event_id: string, refused: Record<string, unknown>) =>
    service.submit(
      samplePurchase({
        event_id,
        user_data: { em: EMAIL },
        consent: { advertising: 'granted', ...refused },
      }),
    )
  await submit('both', {})
  await submit('no-meta', { 'Facebook Pixel': false })
  const names = ['OpenAI', 'OpenAI Ads', 'OpenAI Pixel', 'ChatGPT', 'ChatGPT Ads', 'oaiq']
  for (const name of names) await submit(name, { [name]: false })
  await service.deliver()
  const ids = (await received(service)).map(({ event_id }) => event_id)
  assert.deepEqual(ids.sort(), ['both', 'no-meta'])
  for (const name of names) assert.match(await readStatus(service, name), /^skipped:consent/, name)
})

it('opts out an event whose person refuses personalized ads, or that is limited', async test => {
  const { service } = await startWithOpenai(test)
  const consent = { ad_user_data: 'granted', ad_personalization: 'denied' }
  await service.submit(samplePurchase({ event_id: 'refused', consent, user_data: { em: EMAIL } }))
  await service.submit(
    samplePurchase({
      event_id: 'limited',
      user_data: { em: EMAIL },
      data_processing_options: ['LDU'],
      data_processing_options_country: 1,
      data_processing_options_state: 1_000,
    }),
  )
  await service.deliver()
  const sent = (await received(service)).map(({ event_id, event }) => [event_id, event.opt_out])
  assert.deepEqual(sent.sort(), [
    ['limited', true],
    ['refused', true],
  ])
})

it('sends no refund and no name that OpenAI does not take, unless the map has one', async test => {
  const routing = { event_names: { 'Quote Requested': 'lead_created' } }
  const { service } = await startWithOpenai(test, { routing })
  for (const event_name of ['Quote Requested', 'Lamp Lit', 'Scroll']) {
    await service.submit(
      samplePageView({ event_id: event_name, event_name, user_data: { em: EMAIL } }),
    )
  }
  await service.submit(samplePurchase({ event_id: 'Refund', event_name: 'Refund' }))
  await service.deliver()
  const types = (await received(service)).map(({ event }) => [event.type, event.custom_event_name])
  assert.deepEqual(types.sort(), [
    ['custom', 'Scroll'],
    ['lead_created', undefined],
  ])
  for (const id of ['Lamp Lit', 'Refund']) {
    assert.equal(await readStatus(service, id), 'skipped:not_selected no_platform_name', id)
  }
})

it('finds the bad event of a refused request, and stores nothing that OpenAI repeats', async test => {
  const { service } = await startWithOpenai(test, { credential: 'sk-svcacct-key-4711' })
  for (const event_id of ['a', 'b', 'c', 'd']) {
    await service.submit(samplePurchase({ event_id, user_data: { em: EMAIL } }))
  }
  const digest = hash('sha256', EMAIL.toLowerCase())
  const message = `events.2: user.emails_sha256 is no digest: ${digest} (sk-svcacct-key-4711)`
  await scriptPlatformFaults('openai_ads')(service.simulatorUrl, [
    { match: { event_id: 'c' }, respond: { status: 400, message } },
  ])
  await service.deliver()
  const statuses = await Promise.all(['a', 'b', 'c', 'd'].map(id => readStatus(service, id)))
  assert.deepEqual(
    statuses.map(status => status.split(' ')[0]),
    ['accepted', 'accepted', 'failed:permanent', 'accepted'],
  )
  const { body } = await service.read('c')
  const shown = JSON.stringify(body.deliveries)
  assert.match(shown, /is no digest/)
  for (const secret of [digest, 'sk-svcacct']) assert.ok(!shown.includes(secret), secret)
  assert.ok(!(await readStoredText(service.database)).includes('sk-svcacct'))
})

it('counts an event once whose answer was lost, or whose worker died', async test => {
  const { service } = await startWithOpenai(test)
  const fault = { times: 1, abort: 'after_store' }
  await scriptPlatformFaults('openai_ads')(service.simulatorUrl, [fault])
  await service.submit(samplePurchase({ event_id: 'lost-answer', user_data: { em: EMAIL } }))
  await service.deliver()
  assert.match(await readStatus(service, 'lost-answer'), /^retrying/)
  await service.submit(samplePurchase({ event_id: 'dead-worker', user_data: { em: EMAIL } }))
  await service.database.pool.query(
    `update delivery_queue set status = 'sent', status_reason = 'handed_over', attempt_count = 1,
       leased_until = now() + interval '1 minute'
     where event_id = 'dead-worker' and destination_id <> $1`,
    [service.tracker.destinationId],
  )
  await expireLeases(service.database)
  service.clock.advance(60)
  await service.deliver()
  for (const id of ['lost-answer', 'dead-worker']) {
    assert.match(await readStatus(service, id), /^accepted/, id)
  }
  const counted = (await received(service)).filter(({ deduplicated }) => !deduplicated)
  assert.deepEqual(counted.map(({ event_id }) => event_id).sort(), ['dead-worker', 'lost-answer'])
})

it('erases a person by the ID in another case, and leaves nothing', async test => {
  const { service } = await startWithOpenai(test)
  await service.submit(
    samplePurchase({
      user_data: { external_id: 'Customer-aB', em: EMAIL },
      click_ids: { oppref: 'opp-of-jane', obref: 'ob-of-jane' },
    }),
  )
  await service.deliver()
  const kept = ['opp-of-jane', 'ob-of-jane']
  const before = await readStoredText(service.database)
  for (const value of kept) assert.ok(before.includes(value), value)
  const { status } = await service.request('DELETE', '/api/v1/user-data', {
    body: { identifier_hash: hash('sha256', 'customer-ab') },
  })
  assert.equal(status, 200)
  const text = await readStoredText(service.database)
  for (const value of kept) assert.ok(!text.includes(value), value)
})
