import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { it, type TestContext } from 'node:test'
import { startSimulator } from '@signalbox/graph-simulator/simulator-server.ts'
import { sampleOutboundEvent } from '../../../../testing/fixtures/sample-events.ts'
import { listConversions, scriptPlatformFaults } from '../../../../testing/fixtures/simulator.ts'
import type { OutboundEvent } from '../platform.ts'
import { readConversionAnswer } from './api-answers.ts'
import { linkedinPlatform } from './client.ts'
import { type IpAddressForm, linkedinPayload } from './payload.ts'
import { findVersionEnd } from './settings.ts'

const NOW = new Date('2026-11-21T12:00:00Z')

interface Created {
  baseUrl?: string
  version?: string
  ipAddress?: IpAddressForm
}

function createLinkedin({ baseUrl = 'http://127.0.0.1:9', version, ipAddress }: Created = {}) {
  return linkedinPlatform({
    baseUrl,
    version: version ?? '202607',
    tokenUrl: `${baseUrl}/token`,
    ipAddress: ipAddress ?? 'none',
    timeoutMilliseconds: 5_000,
  })
}
const offline = createLinkedin()
const target = { adAccountId: '506336348' }
const connection = { target, accessToken: 'token-a', testCode: null }

async function startLinkedin(test: TestContext): Promise<string> {
  const { url, close } = await startSimulator({ host: '127.0.0.1', port: 0, now: () => NOW })
  test.after(close)
  return url
}

const sample = (changes: Partial<OutboundEvent> = {}) =>
  sampleOutboundEvent({ platformName: '104012', ...changes })

// biome-ignore lint/suspicious/noExplicitAny: tests assert on the shape of the event
function sent(changes: Partial<OutboundEvent> = {}): any {
  return (linkedinPayload([sample(changes)]).elements as unknown[])[0]
}

it('names the conversion rule, the time in milliseconds and the identifiers, and no one', () => {
  const digests = { em: ['e'.repeat(64)], ph: ['a'.repeat(64)], fn: ['b'.repeat(64)] }
  const plain = { li_fat_id: 'df5gf5-gh6t7', client_user_agent: 'B/1' }
  assert.deepEqual(sent({ digests, plain }), {
    conversion: 'urn:lla:llaPartnerConversion:104012',
    conversionHappenedAt: Date.parse('2026-11-21T11:59:00.999Z'),
    conversionValue: { currencyCode: 'EUR', amount: '19.90' },
    eventId: 'order-1001',
    user: {
      userIds: [
        { idType: 'SHA256_EMAIL', idValue: 'e'.repeat(64) },
        { idType: 'LINKEDIN_FIRST_PARTY_ADS_TRACKING_UUID', idValue: 'df5gf5-gh6t7' },
      ],
    },
  })
})

it('sends money as text with every digit, and only with its currency', () => {
  for (const [valueAmount, valueCurrency, amount] of [
    ['19.90', 'EUR', '19.90'],
    ['1200', 'JPY', '1200'],
    ['1.234', 'KWD', '1.234'],
    ['0.30', 'EUR', '0.30'],
    ['999999999999.99', 'USD', '999999999999.99'],
    ['007.50', 'USD', '7.50'],
  ] as const) {
    const value = sent({ valueAmount, valueCurrency }).conversionValue
    assert.deepEqual(value, { currencyCode: valueCurrency, amount })
  }
  assert.equal(sent({ valueCurrency: null }).conversionValue, undefined)
  assert.equal(sent({ valueAmount: null }).conversionValue, undefined)
})

it('refuses locally what would cost its batch, and what may not be used freely', () => {
  const refuses = (changes: Partial<OutboundEvent>, text: RegExp) =>
    assert.match(offline.validateEvent(sample(changes))?.message ?? '', text)
  assert.equal(offline.validateEvent(sample()), null)
  refuses({ platformName: 'Purchase' }, /conversion rule/)
  refuses({ digests: {} }, /email address or li_fat_id/)
  refuses({ digests: { em: ['short'] } }, /SHA-256/)
  refuses({ eventId: '' }, /event_id/)
  refuses({ valueCurrency: 'XXQ' }, /ISO 4217/)
  refuses({ optOut: true }, /cannot limit/)
  refuses({ advertiserTracking: false }, /cannot limit/)
  refuses({ adConsent: { userData: true, personalization: false } }, /cannot limit/)
  refuses({ dataProcessing: { options: ['LDU'], country: 0, state: 0 } }, /cannot limit/)
  const unlimited = { options: [], country: null, state: null }
  assert.equal(offline.validateEvent(sample({ dataProcessing: unlimited })), null)
})

it('settles each event by its own status, where an answer has them', () => {
  const read = (elements: unknown[], count: number) =>
    readConversionAnswer({ status: 200, body: JSON.stringify({ elements }), waitSeconds: 0 }, count)
  const bad = { status: 400, error: { message: 'No such rule.' } }
  const partly = read([{ status: 201 }, bad], 2)
  assert.deepEqual([partly.outcome, partly.error], ['accepted', null])
  assert.deepEqual(
    partly.events?.map(({ outcome, error }) => [outcome, error?.message]),
    [
      ['accepted', undefined],
      ['permanent', 'No such rule.'],
    ],
  )
  assert.equal(read([bad], 1).outcome, 'permanent')
  assert.equal(read([{ status: 201 }], 2).outcome, 'unknown')
  assert.equal(read([{ status: 'created' }], 1).outcome, 'unknown')
})

it('pauses the destination for a version that LinkedIn ended, and names the setting', async test => {
  const baseUrl = await startLinkedin(test)
  const ended = createLinkedin({ baseUrl, version: '202511' })
  const { outcome, error, answer } = await ended.send(connection, [sample()])
  assert.deepEqual([outcome, error?.http_status], ['config', 426])
  assert.deepEqual(answer, { code: 'NONEXISTENT_VERSION' })
  assert.match(error?.user_message ?? '', /SIGNALBOX_LINKEDIN_VERSION/)
})

it('knows when a version ends, never later than LinkedIn announced', () => {
  for (const [version, end] of [
    ['202508', '2026-08-17'],
    ['202510', '2026-10-15'],
    ['202511', '2026-11-16'],
    ['202607', '2027-07-15'],
    ['202612', '2027-12-15'],
  ] as const) {
    const found = findVersionEnd(version)
    assert.ok(found <= new Date(end))
    assert.equal(found.toISOString().slice(0, 7), end.slice(0, 7))
  }
})

it('tells what stops a destination from what stops one event', async test => {
  const baseUrl = await startLinkedin(test)
  const platform = createLinkedin({ baseUrl })
  for (const [respond, outcome] of [
    [{ status: 401 }, 'auth'],
    [{ status: 403 }, 'config'],
    [{ status: 400 }, 'permanent'],
    [{ status: 422 }, 'permanent'],
    [{ status: 500 }, 'unknown'],
    [{ status: 422, body: '<html>' }, 'unknown'],
  ] as const) {
    await scriptPlatformFaults('linkedin')(baseUrl, [{ times: 1, respond }])
    assert.equal((await platform.send(connection, [sample()])).outcome, outcome)
  }
})

it('sends no test event, which LinkedIn would count', async test => {
  const baseUrl = await startLinkedin(test)
  const platform = createLinkedin({ baseUrl })
  const tested = { ...connection, testCode: 'TEST12345' }
  const answer = await platform.send(tested, [sample(), sample({ eventId: 'b' })])
  assert.deepEqual(
    answer.events?.map(({ outcome }) => outcome),
    ['permanent', 'permanent'],
  )
  assert.match(answer.error?.message ?? '', /no test mode/)
  assert.deepEqual(await listConversions(baseUrl, 'linkedin'), [])
})

function normalize(userData: Record<string, unknown>, ipAddress: IpAddressForm = 'none') {
  const submitted = { userData, clickIds: {}, eventSource: undefined }
  return createLinkedin({ ipAddress }).normalizeIdentity({
    ...submitted,
    eventTime: NOW,
    observedAt: NOW,
  })
}

it("keeps the email address as a digest alone, and a caller's own digest as it is", () => {
  const given = {
    em: ' Jane.Roe+Shop@Example.COM ',
    ph: '+16505551212',
    fn: 'Jane',
    ln: 'Roe',
    external_id: 'customer-7',
    client_ip_address: '93.184.216.34',
    client_user_agent: 'B/1',
  }
  const digests = { em: [hash('sha256', 'jane.roe+shop@example.com')] }
  const { digests: kept, plain } = normalize(given)
  assert.deepEqual([kept, plain], [digests, {}])
  assert.deepEqual(normalize(given, 'plain').plain, { client_ip_address: '93.184.216.34' })
  assert.deepEqual(normalize({ em: 'A'.repeat(64) }).digests, { em: ['a'.repeat(64)] })
  const { user } = sent({ digests, plain: { client_ip_address: '93.184.216.34' } })
  assert.deepEqual(user.userIds[1], { idType: 'PLAINTEXT_IP_ADDRESS', idValue: '93.184.216.34' })
})

it('joins the click of the event, else the one of an earlier visit', () => {
  const join = (own: Record<string, string>, ...seen: Record<string, string>[]) =>
    offline.joinClickIds({ own, seen, eventTime: NOW })
  assert.deepEqual(join({ li_fat_id: 'a' }, { li_fat_id: 'b' }), { li_fat_id: 'a' })
  assert.deepEqual(join({}, {}, { li_fat_id: 'b' }), { li_fat_id: 'b' })
  assert.deepEqual(join({}), {})
})

it('shares a limit of requests between the destinations of an application', () => {
  const refresh = { kind: 'refresh_token', clientId: 'app-1', clientSecret: 's', refreshToken: 'r' }
  const keyOf = (credential: object) =>
    offline.requestBudget?.({ target, credential: credential as never })?.key
  assert.equal(keyOf(refresh), 'linkedin:app-1')
  assert.equal(keyOf({ kind: 'bearer_token', accessToken: 'a' }), 'linkedin:account 506336348')
})
