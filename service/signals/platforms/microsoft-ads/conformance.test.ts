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
import { type MicrosoftAdsTarget, microsoftAdsPlatform } from './client.ts'

// biome-ignore lint/suspicious/noExplicitAny: it reads the form of its own platform
type SentBody = any

const STATUSES: Responses = {
  accepted: null,
  retry: { status: 503 },
  throttle: { status: 429 },
  auth: { status: 401 },
  config: { status: 403 },
  permanent: { status: 400 },
}

const MICROSOFT: SimulatedPlatform<MicrosoftAdsTarget> = {
  create: (baseUrl, timeoutMilliseconds = 5_000) =>
    microsoftAdsPlatform({
      baseUrl,
      version: 'v1',
      emailForm: 'plain',
      phoneForm: 'digits',
      timeoutMilliseconds,
    }),
  start: startScripted(scriptPlatformFaults('microsoft_ads'), STATUSES),
  config: { tag_id: '97247724' },
  event: sampleOutboundEvent(),
  fullEvent: {
    ...FULL_EVENT,
    plain: { ...FULL_EVENT.plain, msclkid: 'cdd4afcccb1c9a4cad9544dd7e5006d5' },
  },
  badEvent: { digests: { em: ['no-digest'] } },
  refuses: 'bad_event',
  listReceivedIds: async url =>
    (await listConversions(url, 'microsoft_ads')).map(({ event_id }) => event_id),
  acceptBody: count => JSON.stringify({ eventsReceived: count, traceId: 'trace-0001' }),
  errorBody: message =>
    JSON.stringify({
      eventsReceived: 0,
      error: {
        code: 'ValidationError',
        message,
        details: [
          { index: 0, propertyName: message, attemptedValue: message, errorMessage: message },
        ],
      },
    }),
  readSent: (body: SentBody) =>
    body.data.map((event: SentBody) => ({
      id: event.eventId,
      amount: event.customData.value,
      currency: event.customData.currency,
      time: Number(event.eventTime) * 1_000,
    })),
  timeUnitMilliseconds: 1_000,
  findContractProblems: null,
  takesDigestsOf: { em: true, ph: true },
}

testPlatform('microsoft_ads', MICROSOFT)
