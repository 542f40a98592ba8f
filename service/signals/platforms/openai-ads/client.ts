import { randomInt, randomUUID } from 'node:crypto'
import { isObject, parseJsonObject } from '../../../runtime/util/is-object.ts'
import type { PlatformConsentNeeds } from '../../consent/consent-statement.ts'
import { type ApiResponse, buildBearerHeaders, noAnswer, requestApi } from '../client.ts'
import type { CredentialForm } from '../credentials.ts'
import type {
  Connection,
  OutboundEvent,
  Platform,
  SendAnswer,
  SendOutcome,
  TargetConfig,
  TargetField,
} from '../platform.ts'
import { type Advice, toRefusedAnswer } from '../refused-answer.ts'
import { unsupportedReport } from '../send-answer.ts'
import {
  canMatchPerson,
  joinOpenaiClick,
  MATCH_KEYS,
  normalizeOpenaiIdentity,
} from './normalize-identity.ts'
import {
  EVENT_NAMES,
  openaiPayload,
  toOpenaiName,
  validateOpenaiEvent,
  WINDOW_SECONDS,
} from './payload.ts'

/** Where the Conversions API is, and how long to wait for it. */
export interface OpenaiAdsOptions {
  /** The API's origin, or the simulator's. */
  baseUrl: string
  timeoutMilliseconds: number
}

/** Where OpenAI receives events. */
export interface OpenaiAdsTarget {
  pixelId: string
}

const BATCH_EVENTS_MAX = 1_000

/** The Conversions API of OpenAI Ads. The key travels in a header, the pixel in the query. */
export function openaiAdsPlatform(options: OpenaiAdsOptions): Platform<OpenaiAdsTarget> {
  return {
    name: 'openai_ads',
    identityMark: 'o',
    label: 'OpenAI Ads',
    targetFields: TARGET_FIELDS,
    credentialForms: CREDENTIAL_FORMS,
    consentNeeds: OPENAI_CONSENT_NEEDS,
    batchMax: BATCH_EVENTS_MAX,
    windowSeconds: () => WINDOW_SECONDS,
    parseTarget: parseOpenaiTarget,
    normalizeIdentity: normalizeOpenaiIdentity,
    joinClickIds: joinOpenaiClick,
    canMatchPerson,
    eventNames: EVENT_NAMES,
    hasNameFor: eventName => toOpenaiName(eventName) !== null,
    validateEvent: validateOpenaiEvent,
    buildBody: ({ testCode }, events) => openaiPayload(events, { isTest: testCode !== null }),
    send: (connection, events) => sendBatch(options, connection, events),
    readDayCounts: async () => NO_COUNTS,
    readMatchQuality: async () => NO_QUALITY,
    matchKeys: MATCH_KEYS,
    createTestCode: () => `TEST${randomInt(10_000, 100_000)}`,
    createSimulatorDestination: () => ({
      config: { pixel_id: randomUUID() },
      credential: `simulator-${randomUUID()}`,
    }),
  }
}

const PIXEL_ID = /^[0-9A-Za-z_-]{4,80}$/

const TARGET_FIELDS: readonly TargetField[] = [
  {
    name: 'pixel_id',
    label: 'Pixel ID',
    hint: 'The conversions tab of OpenAI Ads Manager shows the ID of the pixel on your pages.',
    isValid: text => PIXEL_ID.test(text),
  },
]

/** Reads the stored `config` of a destination: `{"pixel_id": "..."}`. */
function parseOpenaiTarget({ pixel_id }: TargetConfig): OpenaiAdsTarget | null {
  return typeof pixel_id === 'string' && PIXEL_ID.test(pixel_id) ? { pixelId: pixel_id } : null
}

const CREDENTIAL_FORMS: readonly CredentialForm[] = [
  {
    kind: 'bearer_token',
    label: 'Conversions API key',
    hint: 'Create it in the conversions tab of OpenAI Ads Manager. A key for campaigns is refused.',
  },
]

/**
 * We know of no vendor of OpenAI's in the TCF, so its purposes must be consented: storage and
 * measurement. "opt_out: opt out the event from future user-level personalization" is a refusal of
 * personalized ads (purposes 3 and 4), so such a refusal only restricts the event.
 */
export const OPENAI_CONSENT_NEEDS: PlatformConsentNeeds = {
  vendor: 'openai',
  isSocialMedia: false,
  tcfPurposes: [1, 7],
  tcfVendorId: null,
  isAdditionalProvider: false,
  personalization: { refusal: 'restricts', tcfPurposes: [3, 4] },
}

const NO_COUNTS = unsupportedReport(
  'The Conversions API has no counts by day. OpenAI Ads Manager shows them.',
)

const NO_QUALITY = unsupportedReport(
  'The Conversions API has no match quality. OpenAI Ads Manager shows conversions only.',
)

const ANSWER_BYTES_MAX = 65_536
const UNWRITABLE_MESSAGE = 'The key holds characters that no request can carry.'

async function sendBatch(
  { baseUrl, timeoutMilliseconds }: OpenaiAdsOptions,
  { target, accessToken, testCode }: Connection<OpenaiAdsTarget>,
  events: readonly OutboundEvent[],
): Promise<SendAnswer> {
  const headers = buildBearerHeaders(accessToken)
  const url = URL.parse(`${baseUrl}/v1/events?pid=${encodeURIComponent(target.pixelId)}`)
  if (headers === null || url === null) return noAnswer('config', UNWRITABLE_MESSAGE)
  const response = await requestApi({
    url,
    headers,
    isBodyOptional: true,
    createBody: () => openaiPayload(events, { isTest: testCode !== null }),
    accessToken,
    answerBytesMax: ANSWER_BYTES_MAX,
    timeoutMilliseconds,
  })
  return 'outcome' in response ? response : readEventsAnswer(response)
}

/**
 * OpenAI documents no body of an answer, so the status decides. "If one event in the batch fails,
 * the full batch fails": a refused batch is halved until the bad event is alone.
 */
export function readEventsAnswer(response: ApiResponse): SendAnswer {
  const { status, body, waitSeconds } = response
  const outcome = classifyStatus(status)
  if (outcome === 'accepted') {
    return { outcome, waitSeconds, httpStatus: status, traceId: null, answer: null, error: null }
  }
  const message = readMessage(body) ?? `The platform answered HTTP ${status}.`
  return toRefusedAnswer(response, { outcome, message, advice: ADVICE })
}

const OUTCOMES: ReadonlyMap<number, SendOutcome> = new Map([
  [401, 'auth'],
  [403, 'config'],
  [404, 'config'],
  [405, 'config'],
  [408, 'retry'],
  [425, 'retry'],
  [429, 'throttle'],
])

/** A copy of an event counts once by its ID and type, so what may be repaired is sent again. */
function classifyStatus(status: number): SendOutcome {
  const known = OUTCOMES.get(status)
  if (known !== undefined) return known
  if (status >= 200 && status < 300) return 'accepted'
  if (status >= 300 && status < 400) return 'config'
  return status >= 400 && status < 500 ? 'permanent' : 'retry'
}

const TEXT_CHARACTERS_MAX = 500

/** The usual places of a message; OpenAI documents none. */
function readMessage(body: string): string | null {
  const json = parseJsonObject(body)
  const nested = isObject(json?.error) ? json.error.message : json?.error
  const text = [nested, json?.message, json?.detail].find(one => typeof one === 'string' && one)
  return typeof text === 'string' ? text.slice(0, TEXT_CHARACTERS_MAX) : null
}

/** What a person can do about a refusal that stops a destination. */
const ADVICE: Advice = {
  auth: 'Create a new key in the conversions tab of OpenAI Ads Manager; not one for campaigns.',
  config: 'Check the pixel ID, and that the key is of the same ad account.',
}
