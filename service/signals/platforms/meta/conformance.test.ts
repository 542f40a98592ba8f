import { sampleOutboundEvent } from '../../../../testing/fixtures/sample-events.ts'
import { listReceipts, scriptFaults } from '../../../../testing/fixtures/simulator.ts'
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
import { metaPlatform } from './client.ts'
import type { MetaTarget } from './payload.ts'

// biome-ignore lint/suspicious/noExplicitAny: it reads the form of its own platform
type SentBody = any

/** The code of Meta's with this outcome; null for no fault. */
const CODES: Responses = {
  accepted: null,
  retry: { status: 503, code: 2 },
  throttle: { status: 400, code: 4 },
  auth: { status: 401, code: 190 },
  config: { status: 403, code: 200 },
  permanent: { status: 400, code: 100 },
}

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

testPlatform('meta', META)
