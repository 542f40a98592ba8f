import { findRequestError } from '@signalbox/graph-simulator/openai-ads/validate-openai-events.ts'
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
import { type OpenaiAdsTarget, openaiAdsPlatform } from './client.ts'

// biome-ignore lint/suspicious/noExplicitAny: it reads the form of its own platform
type SentBody = any

/** The status of OpenAI's with this outcome; null for no fault. */
const STATUSES: Responses = {
  accepted: null,
  retry: { status: 503 },
  throttle: { status: 429 },
  auth: { status: 401 },
  config: { status: 403 },
  permanent: { status: 400 },
}

const MINOR_DIGITS = 3

/** From fils, of which a dinar has a thousand. */
function toDinars(minor: string): string {
  const digits = minor.padStart(MINOR_DIGITS + 1, '0')
  return `${digits.slice(0, -MINOR_DIGITS)}.${digits.slice(-MINOR_DIGITS)}`
}

const OPENAI_ADS: SimulatedPlatform<OpenaiAdsTarget> = {
  create: (baseUrl, timeoutMilliseconds = 5_000) =>
    openaiAdsPlatform({ baseUrl, timeoutMilliseconds }),
  start: startScripted(scriptPlatformFaults('openai_ads'), STATUSES),
  config: { pixel_id: '2atj5meVpvtJ5kCtqhG3yX' },
  // A currency with a third digit, so that every amount of the suite has a whole number of units.
  event: sampleOutboundEvent({ valueCurrency: 'KWD' }),
  fullEvent: {
    ...FULL_EVENT,
    plain: { ...FULL_EVENT.plain, oppref: 'oppref-5f1c2a', obref: 'obref-77ab21' },
  },
  badEvent: { digests: { em: ['no-digest'] } },
  refuses: 'whole_batch',
  listReceivedIds: async url =>
    (await listConversions(url, 'openai_ads')).map(({ event_id }) => event_id),
  acceptBody: count => JSON.stringify({ accepted_events: count }),
  errorBody: message => JSON.stringify({ error: { message } }),
  readSent: (body: SentBody) =>
    body.events.map((event: SentBody) => ({
      id: event.id,
      amount: toDinars(event.data.amount),
      currency: event.data.currency,
      time: Number(event.timestamp_ms),
    })),
  timeUnitMilliseconds: 1,
  isSettledByStatus: true,
  findContractProblems: body => [findRequestError(body) ?? []].flat(),
  takesDigestsOf: { em: true, ph: true },
}

testPlatform('openai_ads', OPENAI_ADS)
