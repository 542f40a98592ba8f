import assert from 'node:assert/strict'
import { it } from 'node:test'
import { findUnknownMembers } from '@signalbox/graph-simulator/google-ads/google-message-types.ts'
import { findContractProblems } from '@signalbox/graph-simulator/pinterest/contract/pinterest-contract.ts'
import { startSimulator } from '@signalbox/graph-simulator/simulator-server.ts'
import { findMessageProblems } from '@signalbox/graph-simulator/webhook/message-contract.ts'
import { sampleCommerce, sampleOutboundEvent } from '../../../testing/fixtures/sample-events.ts'
import {
  listGoogleReceipts,
  listPinterestReceipts,
  listReceipts,
  listWebhookMessages,
  scriptFaults,
  scriptGoogleFaults,
  scriptPinterestFaults,
  scriptWebhookFaults,
} from '../../../testing/fixtures/simulator.ts'
import {
  type AnswerOutcome,
  testPlatformConformance,
} from '../../../testing/platform-conformance.ts'
import {
  type SimulatedPlatform,
  testPlatformOverHttp,
} from '../../../testing/platform-http-conformance.ts'
import { UNMARKED_IDENTITY } from '../events/column-encoding.ts'
import { googleAdsPlatform } from './google-ads/client.ts'
import type { GoogleAdsTarget } from './google-ads/target.ts'
import { metaPlatform } from './meta/client.ts'
import type { MetaTarget } from './meta/payload.ts'
import { type PinterestTarget, pinterestPlatform } from './pinterest/client.ts'
import { createOfflinePlatforms, PlatformRegistry } from './registry.ts'
import { createSimulatorSecret, type WebhookTarget, webhookPlatform } from './webhook/client.ts'

const now = () => new Date('2026-11-21T12:00:00.000Z')

type Responses = Record<AnswerOutcome, object | null>

/** Starts the simulator, whose next answer has an outcome; `responses` are those of fault rules. */
function startScripted(
  script: (simulatorUrl: string, rules: readonly unknown[]) => Promise<void>,
  responses: Responses,
): SimulatedPlatform<unknown>['start'] {
  return async test => {
    const { url, close } = await startSimulator({ host: '127.0.0.1', port: 0, now })
    test.after(close)
    const answerWith = async (outcome: AnswerOutcome) => {
      const respond = responses[outcome]
      await script(url, respond ? [{ times: 1, respond }] : [])
    }
    return { baseUrl: url, answerWith }
  }
}

/** The code of Meta's with this outcome; null for no fault. */
const CODES: Record<AnswerOutcome, { status: number; code: number } | null> = {
  accepted: null,
  retry: { status: 503, code: 2 },
  throttle: { status: 400, code: 4 },
  auth: { status: 401, code: 190 },
  config: { status: 403, code: 200 },
  permanent: { status: 400, code: 100 },
}

/** An event with what a caller may name of an order and a person, in the words of the core. */
const FULL_EVENT = {
  digests: {
    ...Object.fromEntries(
      ['em', 'ph', 'fn', 'ln', 'ge', 'db', 'ct', 'st', 'zp', 'country', 'external_id'].map(
        (key, index) => [key, [index.toString(16).repeat(64)]],
      ),
    ),
  },
  plain: { client_user_agent: 'Mozilla/5.0 (test)', client_ip_address: '198.51.100.7' },
  orderId: 'order-77',
  numItems: 3,
  contents: [{ id: 'sku-1', quantity: 2, item_price: '9.95', title: 'Lamp', brand: 'Lux' }],
  commerce: sampleCommerce({
    contentIds: ['sku-1'],
    contentTypes: ['product'],
    contentName: 'Lamps',
    contentCategory: 'Home',
    searchString: 'lamp',
    predictedLifetimeValue: '250.50',
    netRevenue: '12.34',
    customProperties: { color: 'red' },
  }),
  customerSegment: 'new_customer_to_business',
  dataProcessing: { options: ['LDU'], country: 1, state: 1_000 },
  referrer: 'https://search.example/',
}

// biome-ignore lint/suspicious/noExplicitAny: a row reads the form of its own platform
type SentBody = any

const META: SimulatedPlatform<MetaTarget> = {
  create: (baseUrl, timeoutMilliseconds = 5_000) =>
    metaPlatform({ baseUrl, version: 'v26.0', timeoutMilliseconds, now }),
  start: startScripted(scriptFaults, CODES),
  config: { dataset_id: '1234567890123456' },
  event: sampleOutboundEvent(),
  fullEvent: FULL_EVENT,
  badEvent: { digests: { em: ['no-digest'] } },
  refuses: 'whole_batch',
  listReceivedIds: async url => (await listReceipts(url)).map(({ event_id }) => event_id),
  acceptBody: count => JSON.stringify({ events_received: count, messages: [], fbtrace_id: 'A' }),
  errorBody: message => JSON.stringify({ error: { message, code: 100, fbtrace_id: 'A' } }),
  readSent: (body: SentBody) =>
    body.data.map((event: SentBody) => ({
      id: event.event_id,
      amount: event.custom_data.value,
      currency: event.custom_data.currency,
      time: Number(event.event_time) * 1_000,
    })),
  timeUnitMilliseconds: 1_000,
  findContractProblems: null,
  takesDigestsOf: { em: true, ph: true },
}

/** The answer of Google's with this outcome; null for no fault. */
const REASONS: Responses = {
  accepted: null,
  retry: { status: 503 },
  throttle: { status: 429, reason: 'RESOURCE_EXHAUSTED' },
  auth: { status: 401 },
  config: { status: 400, reason: 'INVALID_CONVERSION_ACTION_ID' },
  permanent: { status: 400, reason: 'INVALID_HEX_ENCODING' },
}

const GOOGLE_ADS: SimulatedPlatform<GoogleAdsTarget> = {
  create: (baseUrl, timeoutMilliseconds = 5_000) =>
    googleAdsPlatform({
      baseUrl,
      version: 'v1',
      tokenUrl: `${baseUrl}/token`,
      timeoutMilliseconds,
      now,
    }),
  start: startScripted(scriptGoogleFaults, REASONS),
  config: {
    customer_id: '123-456-7890',
    login_customer_id: '',
    quota_project: '',
    merchant_id: '',
    feed_label: '',
    feed_language: '',
  },
  event: sampleOutboundEvent({ platformName: '456' }),
  fullEvent: { ...FULL_EVENT, plain: { ...FULL_EVENT.plain, gclid: 'Cj0KCQiA-click' } },
  badEvent: { digests: { em: ['no-digest'] } },
  refuses: 'whole_batch',
  listReceivedIds: async url =>
    (await listGoogleReceipts(url)).map(({ transaction_id }) => transaction_id),
  acceptBody: () => JSON.stringify({ requestId: 'request-1', fieldWarnings: [] }),
  errorBody: message =>
    JSON.stringify({ error: { code: 400, message, status: 'INVALID_ARGUMENT', details: [] } }),
  readSent: (body: SentBody) =>
    body.events.map((event: SentBody) => ({
      id: event.transactionId,
      amount: event.conversionValue,
      currency: event.currency,
      time: Date.parse(event.eventTimestamp),
    })),
  timeUnitMilliseconds: 1,
  findContractProblems: body => findUnknownMembers('IngestEventsRequest', body),
  takesDigestsOf: { em: true, ph: false },
}

/** The status of Pinterest's with this outcome; null for no fault. */
const STATUSES: Responses = {
  accepted: null,
  retry: { status: 503 },
  throttle: { status: 429 },
  auth: { status: 401 },
  config: { status: 403 },
  permanent: { status: 400 },
}

const PINTEREST: SimulatedPlatform<PinterestTarget> = {
  create: (baseUrl, timeoutMilliseconds = 5_000) =>
    pinterestPlatform({ baseUrl, version: 'v5', timeoutMilliseconds }),
  start: startScripted(scriptPinterestFaults, STATUSES),
  config: { ad_account_id: '549757463328' },
  event: sampleOutboundEvent(),
  fullEvent: { ...FULL_EVENT, plain: { ...FULL_EVENT.plain, click_id: 'dj0yJnU9b2JDcFFHekV4' } },
  badEvent: { digests: { em: ['no-digest'] } },
  refuses: 'bad_event',
  listReceivedIds: async url => (await listPinterestReceipts(url)).map(({ event_id }) => event_id),
  acceptBody: count =>
    JSON.stringify({
      num_events_received: count,
      num_events_processed: count,
      events: Array(count).fill({ status: 'processed', error_message: null }),
    }),
  errorBody: message =>
    JSON.stringify({
      code: 4_196,
      message,
      details: { events: [{ status: 'failed', error_message: message }] },
    }),
  readSent: (body: SentBody) =>
    body.data.map((event: SentBody) => ({
      id: event.event_id,
      amount: event.custom_data.value,
      currency: event.custom_data.currency,
      time: Number(event.event_time) * 1_000,
    })),
  timeUnitMilliseconds: 1_000,
  findContractProblems: body => findContractProblems('request', body),
  takesDigestsOf: { em: true, ph: true },
}

const WEBHOOK_URL = 'https://hooks.example.com/signalbox'

/** The status of an endpoint with this outcome; null for no fault. */
const WEBHOOK_STATUSES: Responses = {
  accepted: null,
  retry: { status: 503 },
  throttle: { status: 429 },
  auth: { status: 401 },
  config: { status: 410 },
  permanent: { status: 422 },
}

const WEBHOOK: SimulatedPlatform<WebhookTarget> = {
  create: (simulatorUrl, timeoutMilliseconds = 5_000) =>
    webhookPlatform({ simulatorUrl, timeoutMilliseconds, now }),
  start: startScripted(scriptWebhookFaults, WEBHOOK_STATUSES),
  config: { url: WEBHOOK_URL },
  accessToken: createSimulatorSecret(WEBHOOK_URL),
  event: sampleOutboundEvent(),
  fullEvent: FULL_EVENT,
  badEvent: { platformName: '' },
  refuses: 'whole_batch',
  listReceivedIds: async url =>
    (await listWebhookMessages(url)).flatMap(({ data }) =>
      data.events.map(({ event_id }: SentBody) => event_id),
    ),
  acceptBody: () => JSON.stringify({ received: true }),
  errorBody: message => JSON.stringify({ message }),
  readSent: (body: SentBody) =>
    body.data.events.map((event: SentBody) => ({
      id: event.event_id,
      amount: event.value,
      currency: event.currency,
      time: Date.parse(event.event_time),
    })),
  timeUnitMilliseconds: 1,
  isSettledByStatus: true,
  findContractProblems: findMessageProblems,
  takesDigestsOf: { em: true, ph: true },
}

/** A platform in the registry needs a line here. */
const UNDER_TEST = { meta: META, google_ads: GOOGLE_ADS, pinterest: PINTEREST, webhook: WEBHOOK }

for (const [name, underTest] of Object.entries(UNDER_TEST)) {
  testPlatformConformance(name, underTest as SimulatedPlatform<unknown>)
  testPlatformOverHttp(name, underTest as SimulatedPlatform<unknown>)
}

it('tests every platform of the registry', () => {
  const names = createOfflinePlatforms().all.map(({ name }) => name)
  assert.deepEqual(names, Object.keys(UNDER_TEST))
})

it('keeps the mark of each platform, which stored rows have', () => {
  const marks = createOfflinePlatforms().all.map(({ name, identityMark }) => [name, identityMark])
  assert.deepEqual(marks, [
    ['meta', 'm'],
    ['google_ads', 'g'],
    ['pinterest', 'p'],
    ['webhook', 'w'],
  ])
  assert.equal(UNMARKED_IDENTITY, 'm')
})

it('refuses a registry without platforms or with a name or a mark twice', () => {
  const [meta] = createOfflinePlatforms().all as [PlatformRegistry['all'][number]]
  assert.throws(() => new PlatformRegistry([]), /needs a platform/)
  assert.throws(() => new PlatformRegistry([meta, meta]), /two platforms have one name/)
  const other = { ...meta, name: 'other' }
  assert.throws(() => new PlatformRegistry([meta, other]), /two platforms have one identity mark/)
  assert.equal(new PlatformRegistry([meta]).find('constructor'), null)
})
