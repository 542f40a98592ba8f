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
import { tiktokPlatform } from './client.ts'
import type { TiktokTarget } from './payload.ts'

// biome-ignore lint/suspicious/noExplicitAny: it reads the form of its own platform
type SentBody = any

/** TikTok's codes, all with HTTP 200. */
const CODES: Responses = {
  accepted: null,
  retry: { status: 200, code: 50_002 },
  throttle: { status: 200, code: 40_100 },
  auth: { status: 200, code: 40_105 },
  config: { status: 200, code: 40_001 },
  permanent: { status: 200, code: 40_002 },
}

const TIKTOK: SimulatedPlatform<TiktokTarget> = {
  create: (baseUrl, timeoutMilliseconds = 5_000) =>
    tiktokPlatform({ baseUrl, version: 'v1.3', windowDays: 7, timeoutMilliseconds }),
  start: startScripted(scriptPlatformFaults('tiktok'), CODES),
  config: { pixel_code: 'C4A0EXAMPLE1GH2IJKLM', offline_event_set_id: '7300000000000000001' },
  event: sampleOutboundEvent(),
  fullEvent: {
    ...FULL_EVENT,
    plain: { ...FULL_EVENT.plain, ttclid: 'E.C.P.click-4711', ttp: 'browser-4711-ttp' },
  },
  badEvent: { digests: { em: ['no-digest'] } },
  refuses: 'whole_batch',
  listReceivedIds: async url =>
    (await listConversions(url, 'tiktok')).map(({ event_id }) => event_id),
  acceptBody: () =>
    JSON.stringify({ code: 0, message: 'OK', request_id: '202611281200AB', data: {} }),
  errorBody: message => JSON.stringify({ code: 40_002, message, request_id: '202611281200AB' }),
  readSent: (body: SentBody) =>
    body.data.map((event: SentBody) => ({
      id: event.event_id,
      amount: event.properties.value,
      currency: event.properties.currency,
      time: Number(event.event_time) * 1_000,
    })),
  timeUnitMilliseconds: 1_000,
  findContractProblems: null,
  takesDigestsOf: { em: true, ph: false },
}

testPlatform('tiktok', TIKTOK)
