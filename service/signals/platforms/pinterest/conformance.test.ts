import { findContractProblems } from '@signalbox/graph-simulator/pinterest/contract/pinterest-contract.ts'
import { sampleOutboundEvent } from '../../../../testing/fixtures/sample-events.ts'
import { listConversions, scriptPlatformFaults } from '../../../../testing/fixtures/simulator.ts'
import {
  type SimulatedPlatform,
  testPlatform,
} from '../../../../testing/platform-http-conformance.ts'
import {
  FULL_EVENT,
  type Responses,
  startScripted,
} from '../../../../testing/simulated-platform.ts'
import { type PinterestTarget, pinterestPlatform } from './client.ts'

// biome-ignore lint/suspicious/noExplicitAny: it reads the form of its own platform
type SentBody = any

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
  start: startScripted(scriptPlatformFaults('pinterest'), STATUSES),
  config: { ad_account_id: '549757463328' },
  event: sampleOutboundEvent(),
  fullEvent: { ...FULL_EVENT, plain: { ...FULL_EVENT.plain, click_id: 'dj0yJnU9b2JDcFFHekV4' } },
  badEvent: { digests: { em: ['no-digest'] } },
  refuses: 'bad_event',
  listReceivedIds: async url =>
    (await listConversions(url, 'pinterest')).map(({ event_id }) => event_id),
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

testPlatform('pinterest', PINTEREST)
