import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { it, type TestContext } from 'node:test'
import { samplePurchase } from '../../../../testing/fixtures/sample-events.ts'
import { startTestService, type TestService } from '../../../../testing/fixtures/service.ts'
import { listConversions, scriptPlatformFaults } from '../../../../testing/fixtures/simulator.ts'
import { readStoredText } from '../../../../testing/fixtures/stored-text.ts'
import { connectSimulated, readStatuses } from '../../../../testing/fixtures/two-platforms.ts'

const EMAIL = 'Jane.Roe@example.com'
const ROUTING = { event_names: { Purchase: '104012', Lead: '104013' } }

/** A service whose tracker sends to Meta and to LinkedIn. */
async function startWithLinkedin(test: TestContext, credential?: string) {
  const service = await startTestService(test)
  await connectSimulated(service, 'linkedin', { routing: ROUTING, credential })
  return service
}

const received = ({ simulatorUrl }: TestService) => listConversions(simulatorUrl, 'linkedin')

/** The status at LinkedIn, which is before Meta by name. */
const readStatus = async (service: TestService, id: string) =>
  (await readStatuses(service, id)).find(status => status.startsWith('linkedin'))

it('sends a purchase by a refresh token, with its click, and stores nothing raw', async test => {
  const service = await startWithLinkedin(test)
  const { status } = await service.submit(
    samplePurchase({
      event_source: 'https://shop.example/?li_fat_id=df5gf5-gh6t7-ph4j7h',
      user_data: { em: EMAIL, fn: 'Jane', ln: 'Roe-Richards', client_user_agent: 'B/1' },
    }),
  )
  assert.equal(status, 202)
  assert.equal(await service.deliver(), 2)
  const [conversion] = await received(service)
  assert.deepEqual(conversion?.event.user, {
    userIds: [
      { idType: 'SHA256_EMAIL', idValue: hash('sha256', EMAIL.toLowerCase()) },
      { idType: 'LINKEDIN_FIRST_PARTY_ADS_TRACKING_UUID', idValue: 'df5gf5-gh6t7-ph4j7h' },
    ],
  })
  assert.equal(conversion?.event.conversion, 'urn:lla:llaPartnerConversion:104012')
  const text = (await readStoredText(service.database)).toLowerCase()
  for (const raw of [EMAIL.toLowerCase(), 'roe-richards']) assert.ok(!text.includes(raw), raw)
})

it('takes an access token as it is', async test => {
  const service = await startWithLinkedin(test, 'a-bearer-token')
  await service.submit(samplePurchase({ user_data: { em: EMAIL } }))
  await service.deliver()
  assert.equal(await readStatus(service, 'order-1001'), 'linkedin accepted')
})

it('sends only events that the map gives a rule, so no refunds', async test => {
  const service = await startWithLinkedin(test)
  const names = ['Purchase', 'Lead', 'ViewContent', 'Refund']
  for (const event_name of names) {
    const value_data = { value: '1', currency: 'EUR', order_id: '1001' }
    const body = { event_id: event_name, event_name, user_data: { em: EMAIL }, value_data }
    assert.equal((await service.submit(samplePurchase(body))).status, 202)
  }
  await service.deliver()
  const ids = (await received(service)).map(({ event_id }) => event_id)
  assert.deepEqual(ids.sort(), ['Lead', 'Purchase'])
  for (const name of ['ViewContent', 'Refund']) {
    assert.match((await readStatus(service, name)) ?? '', /^linkedin skipped:not_selected/)
  }
})

it('reaches each platform under its own consent, by any name of LinkedIn', async test => {
  const service = await startWithLinkedin(test)
  const submit = (event_id: string, consent: Record<string, unknown>) =>
    service.submit(
      samplePurchase({
        event_id,
        user_data: { em: EMAIL },
        consent: { advertising: 'granted', ...consent },
      }),
    )
  await submit('both', {})
  const refusals = [
    { 'LinkedIn Insight Tag': false },
    { linkedin: 'denied' },
    { 'LinkedIn Ads': false },
    { vendors: { disabled: ['linkedin'] } },
    { 'LinkedIn Insight': false },
  ]
  for (const [index, refusal] of refusals.entries()) await submit(`no-${index}`, refusal)
  await submit('no-meta', { 'Facebook Pixel': false })
  await service.deliver()
  const ids = (await received(service)).map(({ event_id }) => event_id)
  assert.deepEqual(ids.sort(), ['both', 'no-meta'])
  for (const index of refusals.keys()) {
    const status = await readStatus(service, `no-${index}`)
    assert.equal(status, 'linkedin skipped:consent consent_refused_for_platform')
  }
})

it('finds the one bad event of a batch by halving', async test => {
  const service = await startWithLinkedin(test)
  for (const event_id of ['a', 'b', 'c', 'd']) {
    await service.submit(samplePurchase({ event_id, user_data: { em: EMAIL } }))
  }
  await scriptPlatformFaults('linkedin')(service.simulatorUrl, [
    { match: { event_id: 'c' }, respond: { status: 422, message: `Index: 2, ERROR :: ${EMAIL}` } },
  ])
  await service.deliver()
  const statuses = []
  for (const id of ['a', 'b', 'd']) statuses.push(await readStatus(service, id))
  assert.deepEqual(statuses, Array(3).fill('linkedin accepted'))
  assert.match((await readStatus(service, 'c')) ?? '', /^linkedin failed:permanent/)
})

it('retries an event whose answer was lost, which counts once', async test => {
  const service = await startWithLinkedin(test)
  await scriptPlatformFaults('linkedin')(service.simulatorUrl, [{ times: 1, abort: 'after_store' }])
  await service.submit(samplePurchase({ user_data: { em: EMAIL } }))
  await service.deliver()
  service.clock.advance(60)
  await service.deliver()
  assert.equal(await readStatus(service, 'order-1001'), 'linkedin accepted')
  const copies = (await received(service)).map(({ deduplicated }) => deduplicated)
  assert.deepEqual(copies, [false, true])
})

it('keeps nothing of an erased person, and sends nothing', async test => {
  const service = await startWithLinkedin(test)
  const click = 'df5gf5-gh6t7-ph4j7h'
  await service.submit(
    samplePurchase({ user_data: { em: EMAIL }, click_ids: { li_fat_id: click } }),
  )
  assert.ok((await readStoredText(service.database)).includes(click))
  const { status } = await service.request('DELETE', '/api/v1/user-data', {
    body: { identifier_hash: hash('sha256', EMAIL.toLowerCase()) },
  })
  assert.equal(status, 200)
  assert.ok(!(await readStoredText(service.database)).includes(click))
  await service.deliver()
  assert.deepEqual(await received(service), [])
})
