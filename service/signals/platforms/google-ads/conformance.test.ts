import { findUnknownMembers } from '@signalbox/graph-simulator/google-ads/google-message-types.ts'
import { sampleOutboundEvent } from '../../../../testing/fixtures/sample-events.ts'
import { listGoogleReceipts, scriptGoogleFaults } from '../../../../testing/fixtures/simulator.ts'
import {
  type SimulatedPlatform,
  testPlatform,
} from '../../../../testing/platform-http-conformance.ts'
import {
  FULL_EVENT,
  now,
  type Responses,
  startScripted,
} from '../../../../testing/simulated-platform.ts'
import { googleAdsPlatform } from './client.ts'
import type { GoogleAdsTarget } from './target.ts'

// biome-ignore lint/suspicious/noExplicitAny: it reads the form of its own platform
type SentBody = any

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

testPlatform('google_ads', GOOGLE_ADS)
