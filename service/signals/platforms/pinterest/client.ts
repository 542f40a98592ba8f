import { randomInt, randomUUID } from 'node:crypto'
import type { PlatformConsentNeeds } from '../../consent/consent-statement.ts'
import { type ApiResponse, buildBearerHeaders, noAnswer, requestApi } from '../client.ts'
import type { CredentialForm } from '../credentials.ts'
import type {
  Connection,
  CredentialOwner,
  OutboundEvent,
  Platform,
  RequestBudget,
  SendAnswer,
  TargetConfig,
  TargetField,
} from '../platform.ts'
import { unsupportedReport } from '../send-answer.ts'
import { readConversionAnswer } from './api-answers.ts'
import {
  canMatchPerson,
  joinPinterestClick,
  MATCH_KEYS,
  normalizePinterestIdentity,
} from './normalize-identity.ts'
import {
  EVENT_NAMES,
  isDeduplicated,
  pinterestPayload,
  validatePinterestEvent,
  WINDOW_SECONDS,
} from './payload.ts'

/** Where the Pinterest API is, and how long to wait for it. */
export interface PinterestOptions {
  /** The API's origin, or the simulator's. */
  baseUrl: string
  /** Such as `v5`. */
  version: string
  timeoutMilliseconds: number
}

/** Where Pinterest receives events. */
export interface PinterestTarget {
  adAccountId: string
}

const BATCH_EVENTS_MAX = 1_000
/** A request with `?test=true` takes fewer. */
const TEST_EVENTS_MAX = 20

/** Pinterest's API for Conversions over HTTP. The token travels in a header. */
export function pinterestPlatform(options: PinterestOptions): Platform<PinterestTarget> {
  return {
    name: 'pinterest',
    identityMark: 'p',
    label: 'Pinterest',
    targetFields: TARGET_FIELDS,
    credentialForms: CREDENTIAL_FORMS,
    consentNeeds: PINTEREST_CONSENT_NEEDS,
    batchMax: BATCH_EVENTS_MAX,
    windowSeconds: () => WINDOW_SECONDS,
    parseTarget: parsePinterestTarget,
    normalizeIdentity: normalizePinterestIdentity,
    joinClickIds: joinPinterestClick,
    canMatchPerson,
    eventNames: EVENT_NAMES,
    isDeduplicated,
    validateEvent: validatePinterestEvent,
    splitBatch: splitTests,
    buildBody: (_, events) => pinterestPayload(events),
    send: (connection, events) => sendBatch(options, connection, events),
    requestBudget,
    readDayCounts: async () => NO_COUNTS,
    readMatchQuality: async () => NO_QUALITY,
    matchKeys: MATCH_KEYS,
    createTestCode: () => `TEST${randomInt(10_000, 100_000)}`,
    createSimulatorDestination,
  }
}

/** The ID becomes a part of a URL's path. */
const AD_ACCOUNT_ID = /^\d{1,20}$/

const TARGET_FIELDS: readonly TargetField[] = [
  {
    name: 'ad_account_id',
    label: 'Ad account ID',
    hint: 'The digits of the ad account in Pinterest Ads Manager, such as 549757463328.',
    isValid: text => AD_ACCOUNT_ID.test(text),
  },
]

/** Reads the stored `config` of a destination: `{"ad_account_id": "..."}`. */
function parsePinterestTarget({ ad_account_id }: TargetConfig): PinterestTarget | null {
  return typeof ad_account_id === 'string' && AD_ACCOUNT_ID.test(ad_account_id)
    ? { adAccountId: ad_account_id }
    : null
}

const CREDENTIAL_FORMS: readonly CredentialForm[] = [
  {
    kind: 'bearer_token',
    label: 'Conversion access token',
    hint: 'Generate it in Pinterest Ads Manager under Conversions, API for Conversions.',
  },
]

/**
 * We know of no vendor of Pinterest's in the TCF, so its purposes must be consented: storage,
 * profiles for ads, personalized ads and measurement. Its `opt_out` is not documented to stand for
 * a refusal of personalized ads, so such a refusal refuses the event.
 */
export const PINTEREST_CONSENT_NEEDS: PlatformConsentNeeds = {
  vendor: 'pinterest',
  isSocialMedia: true,
  tcfPurposes: [1, 3, 4, 7],
  tcfVendorId: null,
  isAdditionalProvider: false,
  personalization: { refusal: 'refuses', tcfPurposes: [] },
}

const NO_COUNTS = unsupportedReport(
  'The API for Conversions has no counts by day. Pinterest Ads Manager shows them.',
)

const NO_QUALITY = unsupportedReport(
  'The API for Conversions has no match quality. Pinterest Ads Manager shows it.',
)

async function sendBatch(
  options: PinterestOptions,
  connection: Connection<PinterestTarget>,
  events: readonly OutboundEvent[],
): Promise<SendAnswer> {
  const response = await request(options, connection, events)
  return 'outcome' in response ? response : readConversionAnswer(response, events)
}

function splitTests(
  events: readonly OutboundEvent[],
  { testCode }: Connection<PinterestTarget>,
): readonly (readonly OutboundEvent[])[] {
  if (testCode === null) return [events]
  const starts = events.flatMap((_, index) => (index % TEST_EVENTS_MAX === 0 ? index : []))
  return starts.map(start => events.slice(start, start + TEST_EVENTS_MAX))
}

/** An answer to a thousand events with a message for each. */
const ANSWER_BYTES_MAX = 2_097_152

const UNWRITABLE_MESSAGE = 'The access token holds characters that no request can carry.'

async function request(
  { baseUrl, version, timeoutMilliseconds }: PinterestOptions,
  { target, accessToken, testCode }: Connection<PinterestTarget>,
  events: readonly OutboundEvent[],
): Promise<ApiResponse | SendAnswer> {
  const headers = buildBearerHeaders(accessToken)
  const query = testCode === null ? '' : '?test=true'
  const url = URL.parse(`${baseUrl}/${version}/ad_accounts/${target.adAccountId}/events${query}`)
  if (headers === null || url === null) return noAnswer('config', UNWRITABLE_MESSAGE)
  const createBody = () => pinterestPayload(events)
  const answerBytesMax = ANSWER_BYTES_MAX
  return requestApi({ url, headers, createBody, accessToken, answerBytesMax, timeoutMilliseconds })
}

const REQUESTS_PER_MINUTE = 5_000
const REQUESTS_PER_DAY = REQUESTS_PER_MINUTE * 24 * 60

/** Pinterest counts calls by ad account and minute, whichever destinations make them. */
function requestBudget({ target }: CredentialOwner<PinterestTarget>): RequestBudget {
  return {
    key: `pinterest:${target.adAccountId}`,
    perMinute: REQUESTS_PER_MINUTE,
    perDay: REQUESTS_PER_DAY,
  }
}

/** The simulator takes any number and any token. */
function createSimulatorDestination() {
  return {
    config: { ad_account_id: `5497${randomInt(10_000_000, 100_000_000)}` },
    credential: `simulator-${randomUUID()}`,
  }
}
