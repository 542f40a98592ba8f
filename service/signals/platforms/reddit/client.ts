import { randomInt, randomUUID } from 'node:crypto'
import type { PlatformConsentNeeds } from '../../consent/consent-statement.ts'
import { buildBearerHeaders, noAnswer, requestApi } from '../client.ts'
import type { CredentialForm } from '../credentials.ts'
import type {
  Connection,
  OutboundEvent,
  Platform,
  SendAnswer,
  TargetConfig,
  TargetField,
} from '../platform.ts'
import { unsupportedReport } from '../send-answer.ts'
import { readConversionAnswer } from './api-answers.ts'
import {
  canMatchPerson,
  type IpAddressForm,
  joinRedditClick,
  MATCH_KEYS,
  normalizeRedditIdentity,
} from './normalize-identity.ts'
import { EVENT_NAMES, redditPayload, validateRedditEvent, WINDOW_SECONDS } from './payload.ts'

/** Where the Reddit Ads API is, and how long to wait for it. */
export interface RedditOptions {
  /** The API's origin, or the simulator's. */
  baseUrl: string
  /** Such as `v3`. */
  version: string
  ipAddress: IpAddressForm
  timeoutMilliseconds: number
}

/** Where Reddit receives events. */
export interface RedditTarget {
  pixelId: string
}

const BATCH_EVENTS_MAX = 1_000

/** Reddit's Conversions API over HTTP. The token travels in a header. */
export function redditPlatform(options: RedditOptions): Platform<RedditTarget> {
  return {
    name: 'reddit',
    identityMark: 'r',
    label: 'Reddit',
    targetFields: TARGET_FIELDS,
    credentialForms: CREDENTIAL_FORMS,
    consentNeeds: REDDIT_CONSENT_NEEDS,
    batchMax: BATCH_EVENTS_MAX,
    windowSeconds: () => WINDOW_SECONDS,
    parseTarget: parseRedditTarget,
    normalizeIdentity: submitted => normalizeRedditIdentity(submitted, options.ipAddress),
    joinClickIds: joinRedditClick,
    canMatchPerson,
    eventNames: EVENT_NAMES,
    validateEvent: validateRedditEvent,
    buildBody: ({ testCode }, events) => redditPayload(events, testCode),
    send: (connection, events) => sendBatch(options, connection, events),
    readDayCounts: async () => NO_COUNTS,
    readMatchQuality: async () => NO_QUALITY,
    matchKeys: MATCH_KEYS,
    createTestCode: () => `t2_signalbox${randomInt(10_000, 100_000)}`,
    createSimulatorDestination,
  }
}

/** The ID becomes a part of a URL's path. */
const PIXEL_ID = /^[A-Za-z0-9_]{1,64}$/

const TARGET_FIELDS: readonly TargetField[] = [
  {
    name: 'pixel_id',
    label: 'Pixel ID',
    hint: 'The ID of the pixel in Reddit Events Manager, such as a2_abc123.',
    isValid: text => PIXEL_ID.test(text),
  },
]

/** Reads the stored `config` of a destination: `{"pixel_id": "..."}`. */
function parseRedditTarget({ pixel_id }: TargetConfig): RedditTarget | null {
  return typeof pixel_id === 'string' && PIXEL_ID.test(pixel_id) ? { pixelId: pixel_id } : null
}

const CREDENTIAL_FORMS: readonly CredentialForm[] = [
  {
    kind: 'bearer_token',
    label: 'Conversion access token',
    hint: 'Generate it in Reddit Events Manager under Conversions API. It is shown once.',
  },
]

/**
 * We know of no vendor of Reddit's in the TCF, so its purposes must be consented: storage, profiles
 * for ads, personalized ads and measurement. Limited data use is not documented to stand for a
 * refusal of personalized ads, so such a refusal refuses the event.
 */
export const REDDIT_CONSENT_NEEDS: PlatformConsentNeeds = {
  vendor: 'reddit',
  isSocialMedia: true,
  tcfPurposes: [1, 3, 4, 7],
  tcfVendorId: null,
  isAdditionalProvider: false,
  personalization: { refusal: 'refuses', tcfPurposes: [] },
}

const NO_COUNTS = unsupportedReport(
  'The Conversions API has no counts by day. Reddit Events Manager shows them.',
)

const NO_QUALITY = unsupportedReport(
  'The Conversions API has no match quality. Reddit Events Manager shows it.',
)

/** A success is one sentence; a refusal lists fields. */
const ANSWER_BYTES_MAX = 262_144

const UNWRITABLE_MESSAGE = 'The access token holds characters that no request can carry.'

async function sendBatch(
  { baseUrl, version, timeoutMilliseconds }: RedditOptions,
  { target, accessToken, testCode }: Connection<RedditTarget>,
  events: readonly OutboundEvent[],
): Promise<SendAnswer> {
  const headers = buildBearerHeaders(accessToken)
  const url = URL.parse(`${baseUrl}/api/${version}/pixels/${target.pixelId}/conversion_events`)
  if (headers === null || url === null) return noAnswer('config', UNWRITABLE_MESSAGE)
  const response = await requestApi({
    url,
    headers,
    createBody: () => redditPayload(events, testCode),
    accessToken,
    answerBytesMax: ANSWER_BYTES_MAX,
    timeoutMilliseconds,
  })
  return 'outcome' in response ? response : readConversionAnswer(response, events.length)
}

/** The simulator takes any pixel and any token. */
function createSimulatorDestination() {
  return {
    config: { pixel_id: `a2_sim${randomInt(10_000_000, 100_000_000)}` },
    credential: `simulator-${randomUUID()}`,
  }
}
