import { randomInt, randomUUID } from 'node:crypto'
import type { PlatformConsentNeeds } from '../../consent/consent-statement.ts'
import { type ApiResponse, noAnswer, redactToken, requestApi } from '../client.ts'
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
import { readEventsAnswer } from './api-answers.ts'
import {
  canMatchPerson,
  joinSnapchatClick,
  MATCH_KEYS,
  normalizeSnapchatIdentity,
} from './normalize-identity.ts'
import {
  EVENT_NAMES,
  snapchatPayload,
  toSnapchatName,
  type ValueType,
  validateSnapchatEvent,
  WINDOW_SECONDS,
} from './payload.ts'

/** Where the Conversions API is, and how long to wait for it. */
export interface SnapchatOptions {
  /** The API's origin, or the simulator's. */
  baseUrl: string
  valueType: ValueType
  timeoutMilliseconds: number
}

/** Where Snapchat receives events. */
export interface SnapchatTarget {
  assetId: string
}

/** Other senders report 2,000 events and 2 MB; an event with a long order has some kilobytes. */
const BATCH_EVENTS_MAX = 1_000

/** The member of the query in which Snap's library sends the token. */
const TOKEN_MEMBER = 'access_token'

/** Snapchat's Conversions API, version 3. The token is in the query of its URLs. */
export function snapchatPlatform(options: SnapchatOptions): Platform<SnapchatTarget> {
  return {
    name: 'snapchat',
    identityMark: 's',
    label: 'Snapchat',
    targetFields: TARGET_FIELDS,
    credentialForms: CREDENTIAL_FORMS,
    secretQueryMembers: [TOKEN_MEMBER],
    consentNeeds: SNAPCHAT_CONSENT_NEEDS,
    batchMax: BATCH_EVENTS_MAX,
    windowSeconds: () => WINDOW_SECONDS,
    parseTarget: parseSnapchatTarget,
    normalizeIdentity: normalizeSnapchatIdentity,
    joinClickIds: joinSnapchatClick,
    canMatchPerson,
    eventNames: EVENT_NAMES,
    hasNameFor: eventName => toSnapchatName(eventName) !== null,
    validateEvent: validateSnapchatEvent,
    buildBody: (_, events) => snapchatPayload(events, options.valueType),
    send: (connection, events) => sendBatch(options, connection, events),
    readDayCounts: async () => NO_COUNTS,
    readMatchQuality: async () => NO_QUALITY,
    matchKeys: MATCH_KEYS,
    createTestCode: () => `TEST${randomInt(10_000, 100_000)}`,
    createSimulatorDestination: () => ({
      config: { asset_id: randomUUID() },
      credential: `simulator-${randomUUID()}`,
    }),
  }
}

/** The ID becomes a part of a URL's path. */
const ASSET_ID = /^[0-9A-Za-z-]{8,64}$/

const TARGET_FIELDS: readonly TargetField[] = [
  {
    name: 'asset_id',
    label: 'Snap Pixel ID or Snap App ID',
    hint: 'Events Manager of Snapchat shows it: a pixel for pages and stores, or an app.',
    isValid: text => ASSET_ID.test(text),
  },
]

/** Reads the stored `config` of a destination: `{"asset_id": "..."}`. */
function parseSnapchatTarget({ asset_id }: TargetConfig): SnapchatTarget | null {
  return typeof asset_id === 'string' && ASSET_ID.test(asset_id) ? { assetId: asset_id } : null
}

const CREDENTIAL_FORMS: readonly CredentialForm[] = [
  {
    kind: 'bearer_token',
    label: 'Conversions API token',
    hint: 'Generate it in Snapchat Ads Manager under Business Details, Conversions API Tokens.',
  },
]

/**
 * We know of no vendor of Snap's in the TCF, so its purposes must be consented: storage, profiles
 * for ads, personalized ads and measurement. Its `opt_out` is not documented to stand for a refusal
 * of personalized ads, so such a refusal refuses the event.
 */
export const SNAPCHAT_CONSENT_NEEDS: PlatformConsentNeeds = {
  vendor: 'snapchat',
  isSocialMedia: true,
  tcfPurposes: [1, 3, 4, 7],
  tcfVendorId: null,
  isAdditionalProvider: false,
  personalization: { refusal: 'refuses', tcfPurposes: [] },
}

const NO_COUNTS = unsupportedReport(
  'The Conversions API has no counts by day. Snapchat Events Manager shows them.',
)

const NO_QUALITY = unsupportedReport(
  'The Conversions API has no match quality. Snapchat Events Manager shows it.',
)

/** The answer of a validation has a part for each event. */
const ANSWER_BYTES_MAX = 2_097_152

const UNWRITABLE_MESSAGE = 'The access token holds characters that no request can carry.'

async function sendBatch(
  { baseUrl, valueType, timeoutMilliseconds }: SnapchatOptions,
  { target, accessToken, testCode }: Connection<SnapchatTarget>,
  events: readonly OutboundEvent[],
): Promise<SendAnswer> {
  const path = testCode === null ? 'events' : 'events/validate'
  const url = URL.parse(`${baseUrl}/v3/${target.assetId}/${path}`)
  if (url === null || !accessToken.isWellFormed()) return noAnswer('config', UNWRITABLE_MESSAGE)
  url.searchParams.set(TOKEN_MEMBER, accessToken)
  const response = await requestApi({
    url,
    headers: new Headers(),
    createBody: () => snapchatPayload(events, valueType),
    accessToken,
    answerBytesMax: ANSWER_BYTES_MAX,
    timeoutMilliseconds,
  })
  if ('outcome' in response) return response
  return readEventsAnswer(withoutEncodedToken(response, url))
}

/** A platform that repeats the URL repeats the token as the URL has it. */
function withoutEncodedToken(response: ApiResponse, { search }: URL): ApiResponse {
  const written = search.slice(`?${TOKEN_MEMBER}=`.length)
  return { ...response, body: redactToken(response.body, written) }
}
