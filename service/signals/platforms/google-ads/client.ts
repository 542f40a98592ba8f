import { randomInt, randomUUID } from 'node:crypto'
import type { PlatformConsentNeeds } from '../../consent/consent-statement.ts'
import { type ApiResponse, buildBearerHeaders, noAnswer, requestApi } from '../client.ts'
import type { CredentialForm } from '../credentials.ts'
import type {
  Connection,
  ConversionTargets,
  CredentialOwner,
  OutboundEvent,
  Platform,
  PlatformCounting,
  PlatformCredentials,
  ReceiptResult,
  RequestBudget,
  SendAnswer,
  Unavailable,
} from '../platform.ts'
import { unsupportedReport } from '../send-answer.ts'
import { COPY_REASON, readIngestAnswer, readReceiptAnswer } from './api-answers.ts'
import { joinGoogleClicks } from './click-ids.ts'
import { canMatchPerson, MATCH_KEYS, normalizeGoogleIdentity } from './normalize-identity.ts'
import {
  CONVERSION_ACTIONS_MAX,
  ingestRequest,
  validateGoogleEvent,
  WINDOW_SECONDS,
} from './payload.ts'
import { type GoogleAdsTarget, parseGoogleAdsTarget, TARGET_FIELDS } from './target.ts'

/** Where the Data Manager API is, and how long to wait for it. */
export interface GoogleAdsOptions {
  /** The API's origin, or the simulator's. */
  baseUrl: string
  /** Such as `v1`. */
  version: string
  /** Where access tokens are minted. */
  tokenUrl: string
  timeoutMilliseconds: number
  now: () => Date
}

/**
 * Google takes 2,000. One bad event refuses its whole request, and the later result names no event,
 * so a small request says more.
 */
const BATCH_EVENTS_MAX = 200

const SCOPE = 'https://www.googleapis.com/auth/datamanager'

/** Google Ads through the Data Manager API over HTTP. The token travels in a header. */
export function googleAdsPlatform(options: GoogleAdsOptions): Platform<GoogleAdsTarget> {
  return {
    name: 'google_ads',
    identityMark: 'g',
    label: 'Google Ads',
    targetFields: TARGET_FIELDS,
    credentialForms: CREDENTIAL_FORMS,
    tokenGrant: { url: options.tokenUrl, scope: SCOPE },
    conversionTargets: CONVERSION_TARGETS,
    restatesValues: { knownReasons: [COPY_REASON] },
    consentNeeds: GOOGLE_CONSENT_NEEDS,
    batchMax: BATCH_EVENTS_MAX,
    windowSeconds: () => WINDOW_SECONDS,
    parseTarget: parseGoogleAdsTarget,
    normalizeIdentity: normalizeGoogleIdentity,
    joinClickIds: joinGoogleClicks,
    canMatchPerson,
    validateEvent: event => validateGoogleEvent(event, options.now()),
    splitBatch: splitByActions,
    buildBody: ({ target, testCode }, events) =>
      ingestRequest(events, { target, isTest: testCode !== null }),
    send: (connection, events) => sendBatch(options, connection, events),
    readReceipt: (credentials, receiptId) => readReceipt(options, credentials, receiptId),
    requestBudget,
    counting: GOOGLE_COUNTING,
    readDayCounts: async () => NO_COUNTS,
    readMatchQuality: async () => NO_QUALITY,
    matchKeys: MATCH_KEYS,
    createTestCode: () => `VALIDATE${randomInt(10_000, 100_000)}`,
    createSimulatorDestination,
  }
}

const CREDENTIAL_FORMS: readonly CredentialForm[] = [
  {
    kind: 'service_account_key',
    label: 'Service account key',
    hint: 'The JSON key file of a service account that is a user of the Google Ads account.',
  },
  {
    kind: 'refresh_token',
    label: 'Refresh token',
    hint: 'Of a person with access to the Google Ads account, with its OAuth client.',
  },
]

const CONVERSION_TARGETS: ConversionTargets = {
  label: 'Conversion actions',
  hint: 'The number of the conversion action in Google Ads, not its name.',
  pattern: '^[0-9]{1,20}$',
}

export const GOOGLE_CONSENT_NEEDS: PlatformConsentNeeds = {
  vendor: 'google',
  isSocialMedia: false,
  tcfPurposes: [1, 7],
  // "Google Advertising Products" on the Global Vendor List.
  tcfVendorId: 755,
  isAdditionalProvider: false,
  personalization: { refusal: 'restricts', tcfPurposes: [3, 4] },
}

const GOOGLE_COUNTING: PlatformCounting = {
  source: 'request_results',
  label: 'Processed events',
  meaning:
    'Events that the Data Manager API says it processed, summed over the results of the requests ' +
    'of the day. It has no counts by day or event name. Google Ads shows the conversions that it ' +
    'attributed to ads, which are fewer.',
  noValues:
    'The Data Manager API reports no values. Google Ads shows those of attributed conversions.',
  duplicateReasons: ['DUPLICATE_TRANSACTION_ID'],
}

const NO_COUNTS = unsupportedReport(
  'The Data Manager API has no counts by day. It tells the result of each request in counts, ' +
    'which the event shows; what was attributed is in Google Ads.',
)

const NO_QUALITY = unsupportedReport(
  'The Data Manager API has no match quality for conversions. Google Ads shows it.',
)

const UNWRITABLE_MESSAGE =
  'The access token or the Cloud project holds characters that no request can carry.'

async function sendBatch(
  options: GoogleAdsOptions,
  { target, accessToken, testCode }: Connection<GoogleAdsTarget>,
  events: readonly OutboundEvent[],
): Promise<SendAnswer> {
  const isTest = testCode !== null
  const response = await request(
    options,
    { target, accessToken },
    {
      path: 'events:ingest',
      body: ingestRequest(events, { target, isTest }),
    },
  )
  return 'outcome' in response ? response : readIngestAnswer(response, { isTest })
}

/** Ten conversion actions in each request: more do not fit into one. */
function splitByActions(events: readonly OutboundEvent[]): readonly (readonly OutboundEvent[])[] {
  const actions = [...new Set(events.map(({ platformName }) => platformName))]
  const requestOf = ({ platformName }: OutboundEvent) =>
    Math.floor(actions.indexOf(platformName) / CONVERSION_ACTIONS_MAX)
  return [...Map.groupBy(events, requestOf).values()]
}

async function readReceipt(
  options: GoogleAdsOptions,
  credentials: PlatformCredentials<GoogleAdsTarget>,
  receiptId: string,
): Promise<ReceiptResult | Unavailable> {
  const path = `requestStatus:retrieve?${new URLSearchParams({ requestId: receiptId })}`
  const response = await request(options, credentials, { path })
  if (!('outcome' in response)) return readReceiptAnswer(response)
  const sentence = response.error?.message ?? ''
  return { kind: 'unavailable', cause: 'out_of_reach', sentence, waitSeconds: 0 }
}

/** An answer to a batch or to a question is far smaller; a refusal lists what is wrong. */
const ANSWER_BYTES_MAX = 262_144

interface AskedPath {
  path: string
  /** Without one, the request is a GET. */
  body?: Record<string, unknown>
}

async function request(
  { baseUrl, version, timeoutMilliseconds }: GoogleAdsOptions,
  { target, accessToken }: PlatformCredentials<GoogleAdsTarget>,
  { path, body }: AskedPath,
): Promise<ApiResponse | SendAnswer> {
  const headers = buildBearerHeaders(accessToken)
  const url = URL.parse(`${baseUrl}/${version}/${path}`)
  if (headers === null || url === null) return noAnswer('config', UNWRITABLE_MESSAGE)
  if (target.quotaProject !== null) headers.set('x-goog-user-project', target.quotaProject)
  const createBody = body && (() => body)
  const answerBytesMax = ANSWER_BYTES_MAX
  return requestApi({ url, headers, createBody, accessToken, answerBytesMax, timeoutMilliseconds })
}

const REQUESTS_PER_MINUTE = 300
const REQUESTS_PER_DAY = 100_000

/** Google counts requests by Cloud project, whichever destinations and processes make them. */
function requestBudget({ target, credential }: CredentialOwner<GoogleAdsTarget>): RequestBudget {
  const project = target.quotaProject ?? projectOf(credential)
  return {
    key: `google_ads:${project}`,
    perMinute: REQUESTS_PER_MINUTE,
    perDay: REQUESTS_PER_DAY,
  }
}

/** An OAuth client belongs to one project, whose number its ID begins with. */
function projectOf(credential: CredentialOwner<GoogleAdsTarget>['credential']): string {
  switch (credential.kind) {
    case 'service_account_key':
      return credential.projectId ?? credential.clientEmail
    case 'refresh_token':
      return credential.clientId.split('-')[0] ?? credential.clientId
    case 'bearer_token':
      return 'unknown'
  }
}

/** The simulator takes any refresh token. Ten digits, as Google's customer IDs have. */
function createSimulatorDestination() {
  const digits = randomInt(1_000_000_000, 10_000_000_000)
  const credential = {
    kind: 'refresh_token',
    client_id: 'simulator',
    client_secret: 'simulator',
    refresh_token: `simulator-${randomUUID()}`,
  }
  return {
    config: { customer_id: String(digits) },
    credential: JSON.stringify(credential),
  }
}
