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
import { type LinkedinTarget, linkedinPlatform } from './client.ts'

// biome-ignore lint/suspicious/noExplicitAny: it reads the form of its own platform
type SentBody = any

/** The status of LinkedIn's with this outcome; null for no fault. */
const STATUSES: Responses = {
  accepted: null,
  retry: { status: 503 },
  throttle: { status: 429 },
  auth: { status: 401 },
  config: { status: 426 },
  permanent: { status: 422 },
}

const LINKEDIN: SimulatedPlatform<LinkedinTarget> = {
  create: (baseUrl, timeoutMilliseconds = 5_000) =>
    linkedinPlatform({
      baseUrl,
      version: '202607',
      tokenUrl: `${baseUrl}/token`,
      ipAddress: 'plain',
      timeoutMilliseconds,
    }),
  start: startScripted(scriptPlatformFaults('linkedin'), STATUSES),
  config: { ad_account_id: '506336348' },
  event: sampleOutboundEvent({ platformName: '104012' }),
  fullEvent: {
    ...FULL_EVENT,
    plain: { ...FULL_EVENT.plain, li_fat_id: 'df5gf5-gh6t7-ph4j7h-fgf6n1' },
    // LinkedIn gets no event with a restriction.
    dataProcessing: null,
  },
  badEvent: { digests: { em: ['no-digest'] } },
  refuses: 'whole_batch',
  listReceivedIds: async url =>
    (await listConversions(url, 'linkedin')).map(({ event_id }) => event_id),
  acceptBody: count => JSON.stringify({ elements: Array(count).fill({ status: 201 }) }),
  errorBody: message =>
    JSON.stringify({
      status: 422,
      message,
      elements: [{ status: 422, error: { message } }],
    }),
  readSent: (body: SentBody) =>
    body.elements.map((event: SentBody) => ({
      id: event.eventId,
      amount: event.conversionValue.amount,
      currency: event.conversionValue.currencyCode,
      time: Number(event.conversionHappenedAt),
    })),
  timeUnitMilliseconds: 1,
  findContractProblems: null,
  takesDigestsOf: { em: true, ph: false },
}

testPlatform('linkedin', LINKEDIN)
