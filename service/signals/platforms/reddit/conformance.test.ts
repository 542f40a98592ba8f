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
import { type RedditTarget, redditPlatform } from './client.ts'

// biome-ignore lint/suspicious/noExplicitAny: it reads the form of its own platform
type SentBody = any

/** The status of Reddit's with this outcome; null for no fault. */
const STATUSES: Responses = {
  accepted: null,
  retry: { status: 503 },
  throttle: { status: 429 },
  auth: { status: 401 },
  config: { status: 403 },
  permanent: { status: 400 },
}

const REDDIT: SimulatedPlatform<RedditTarget> = {
  create: (baseUrl, timeoutMilliseconds = 5_000) =>
    redditPlatform({ baseUrl, version: 'v3', ipAddress: 'plain', timeoutMilliseconds }),
  start: startScripted(scriptPlatformFaults('reddit'), STATUSES),
  config: { pixel_id: 'a2_abc123' },
  event: sampleOutboundEvent(),
  fullEvent: {
    ...FULL_EVENT,
    plain: { ...FULL_EVENT.plain, click_id: '0123456789abcdef', uuid: 'd9bff6c2-1b2a-4f0e' },
  },
  badEvent: { eventTime: new Date('2026-11-01T12:00:00Z') },
  refuses: 'whole_batch',
  listReceivedIds: async url =>
    (await listConversions(url, 'reddit')).map(({ event_id }) => event_id),
  acceptBody: count =>
    JSON.stringify({ data: { message: `Successfully processed ${count} conversion events.` } }),
  errorBody: message =>
    JSON.stringify({
      error: { code: 400, message, fields: [{ field: 'events[0].user', message }] },
    }),
  readSent: (body: SentBody) =>
    body.data.events.map((event: SentBody) => ({
      id: event.metadata.conversion_id,
      amount: event.metadata.value,
      currency: event.metadata.currency,
      time: Number(event.event_at),
    })),
  timeUnitMilliseconds: 1,
  findContractProblems: null,
  takesDigestsOf: { em: false, ph: false },
}

testPlatform('reddit', REDDIT)
