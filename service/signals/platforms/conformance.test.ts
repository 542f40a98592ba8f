import assert from 'node:assert/strict'
import { it } from 'node:test'
import { startSimulator } from '@signalbox/graph-simulator/simulator-server.ts'
import { sampleOutboundEvent } from '../../../testing/fixtures/sample-events.ts'
import {
  scriptFaults,
  scriptGoogleFaults,
  scriptWebhookFaults,
} from '../../../testing/fixtures/simulator.ts'
import {
  type AnswerOutcome,
  type PlatformUnderTest,
  testPlatformConformance,
} from '../../../testing/platform-conformance.ts'
import { UNMARKED_IDENTITY } from '../events/column-encoding.ts'
import { googleAdsPlatform } from './google-ads/client.ts'
import type { GoogleAdsTarget } from './google-ads/target.ts'
import { metaPlatform } from './meta/client.ts'
import type { MetaTarget } from './meta/payload.ts'
import { createOfflinePlatforms, PlatformRegistry } from './registry.ts'
import { createSimulatorSecret, type WebhookTarget, webhookPlatform } from './webhook/client.ts'

const now = () => new Date('2026-11-21T12:00:00.000Z')

/** The code of Meta's with this outcome; null for no fault. */
const CODES: Record<AnswerOutcome, { status: number; code: number } | null> = {
  accepted: null,
  retry: { status: 503, code: 2 },
  throttle: { status: 400, code: 4 },
  auth: { status: 401, code: 190 },
  config: { status: 403, code: 200 },
  permanent: { status: 400, code: 100 },
}

const META: PlatformUnderTest<MetaTarget> = {
  create: baseUrl => metaPlatform({ baseUrl, version: 'v26.0', timeoutMilliseconds: 5_000, now }),
  async start(test) {
    const { url, close } = await startSimulator({ host: '127.0.0.1', port: 0, now })
    test.after(close)
    const answerWith = async (outcome: AnswerOutcome) => {
      const respond = CODES[outcome]
      await scriptFaults(url, respond ? [{ times: 1, respond }] : [])
    }
    return { baseUrl: url, answerWith }
  },
  config: { dataset_id: '1234567890123456' },
  event: sampleOutboundEvent(),
}

/** The answer of Google's with this outcome; null for no fault. */
const REASONS: Record<AnswerOutcome, { status: number; reason?: string } | null> = {
  accepted: null,
  retry: { status: 503 },
  throttle: { status: 429, reason: 'RESOURCE_EXHAUSTED' },
  auth: { status: 401 },
  config: { status: 400, reason: 'INVALID_CONVERSION_ACTION_ID' },
  permanent: { status: 400, reason: 'INVALID_HEX_ENCODING' },
}

const GOOGLE_ADS: PlatformUnderTest<GoogleAdsTarget> = {
  create: baseUrl =>
    googleAdsPlatform({
      baseUrl,
      version: 'v1',
      tokenUrl: `${baseUrl}/token`,
      timeoutMilliseconds: 5_000,
      now,
    }),
  async start(test) {
    const { url, close } = await startSimulator({ host: '127.0.0.1', port: 0, now })
    test.after(close)
    const answerWith = async (outcome: AnswerOutcome) => {
      const respond = REASONS[outcome]
      await scriptGoogleFaults(url, respond ? [{ times: 1, respond }] : [])
    }
    return { baseUrl: url, answerWith }
  },
  config: {
    customer_id: '123-456-7890',
    login_customer_id: '',
    quota_project: '',
    merchant_id: '',
    feed_label: '',
    feed_language: '',
  },
  event: sampleOutboundEvent({ platformName: '456' }),
}

const WEBHOOK_URL = 'https://hooks.example.com/signalbox'
const STATUSES: Record<AnswerOutcome, number | null> = {
  accepted: null,
  retry: 503,
  throttle: 429,
  auth: 401,
  config: 410,
  permanent: 422,
}

const WEBHOOK: PlatformUnderTest<WebhookTarget> = {
  create: simulatorUrl => webhookPlatform({ simulatorUrl, timeoutMilliseconds: 5_000, now }),
  async start(test) {
    const { url, close } = await startSimulator({ host: '127.0.0.1', port: 0, now })
    test.after(close)
    const answerWith = async (outcome: AnswerOutcome) => {
      const status = STATUSES[outcome]
      await scriptWebhookFaults(url, status ? [{ times: 1, respond: { status } }] : [])
    }
    return { baseUrl: url, answerWith }
  },
  config: { url: WEBHOOK_URL },
  accessToken: createSimulatorSecret(WEBHOOK_URL),
  event: sampleOutboundEvent(),
}

/** A platform in the registry needs a line here. */
const UNDER_TEST = { meta: META, google_ads: GOOGLE_ADS, webhook: WEBHOOK }

testPlatformConformance('meta', META)
testPlatformConformance('google_ads', GOOGLE_ADS)
testPlatformConformance('webhook', WEBHOOK)

it('tests every platform of the registry', () => {
  const names = createOfflinePlatforms().all.map(({ name }) => name)
  assert.deepEqual(names, Object.keys(UNDER_TEST))
})

it('keeps the mark of each platform, which stored rows have', () => {
  const marks = createOfflinePlatforms().all.map(({ name, identityMark }) => [name, identityMark])
  assert.deepEqual(marks, [
    ['meta', 'm'],
    ['google_ads', 'g'],
    ['webhook', 'w'],
  ])
  assert.equal(UNMARKED_IDENTITY, 'm')
})

it('refuses a registry without platforms or with a name or a mark twice', () => {
  const [meta] = createOfflinePlatforms().all
  assert.ok(meta)
  assert.throws(() => new PlatformRegistry([]), /needs a platform/)
  assert.throws(() => new PlatformRegistry([meta, meta]), /two platforms have one name/)
  const other = { ...meta, name: 'other' }
  assert.throws(() => new PlatformRegistry([meta, other]), /two platforms have one identity mark/)
  assert.equal(new PlatformRegistry([meta]).find('constructor'), null)
})
