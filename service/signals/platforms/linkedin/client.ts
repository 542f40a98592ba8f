import { randomInt, randomUUID } from 'node:crypto'
import type { PlatformConsentNeeds } from '../../consent/consent-statement.ts'
import { buildBearerHeaders, noAnswer, requestApi } from '../client.ts'
import type { CredentialForm } from '../credentials.ts'
import type {
  Connection,
  ConversionTargets,
  CredentialOwner,
  OutboundEvent,
  Platform,
  RequestBudget,
  SendAnswer,
  TargetConfig,
  TargetField,
} from '../platform.ts'
import { refuseUnsent, toSendError, unsupportedReport } from '../send-answer.ts'
import { readConversionAnswer } from './api-answers.ts'
import {
  canMatchPerson,
  type IpAddressForm,
  joinLinkedinClick,
  linkedinPayload,
  MATCH_KEYS,
  normalizeLinkedinIdentity,
  validateLinkedinEvent,
  WINDOW_SECONDS,
} from './payload.ts'

/** Where the LinkedIn API is, and how long to wait for it. */
export interface LinkedinOptions {
  /** The API's origin, or the simulator's. */
  baseUrl: string
  /** Such as `202607`. */
  version: string
  /** Where access tokens are minted. */
  tokenUrl: string
  ipAddress: IpAddressForm
  timeoutMilliseconds: number
}

/** The ad account of the conversion rules. Requests do not name it. */
export interface LinkedinTarget {
  adAccountId: string
}

/** LinkedIn takes more. One bad event refuses its request, and a small one is halved less. */
const BATCH_EVENTS_MAX = 1_000

const SCOPE = 'r_ads rw_conversions'

/** LinkedIn's Conversions API over HTTP. The token travels in a header. */
export function linkedinPlatform(options: LinkedinOptions): Platform<LinkedinTarget> {
  return {
    name: 'linkedin',
    identityMark: 'l',
    label: 'LinkedIn',
    targetFields: TARGET_FIELDS,
    credentialForms: CREDENTIAL_FORMS,
    tokenGrant: { url: options.tokenUrl, scope: SCOPE },
    conversionTargets: CONVERSION_TARGETS,
    consentNeeds: LINKEDIN_CONSENT_NEEDS,
    batchMax: BATCH_EVENTS_MAX,
    windowSeconds: () => WINDOW_SECONDS,
    parseTarget: parseLinkedinTarget,
    normalizeIdentity: submitted => normalizeLinkedinIdentity(submitted, options.ipAddress),
    joinClickIds: joinLinkedinClick,
    canMatchPerson,
    validateEvent: validateLinkedinEvent,
    buildBody: (_, events) => linkedinPayload(events),
    send: (connection, events) => sendBatch(options, connection, events),
    requestBudget,
    readDayCounts: async () => NO_COUNTS,
    readMatchQuality: async () => NO_QUALITY,
    matchKeys: MATCH_KEYS,
    createTestCode: () => `TEST${randomInt(10_000, 100_000)}`,
    createSimulatorDestination,
  }
}

const AD_ACCOUNT_ID = /^\d{1,20}$/

const TARGET_FIELDS: readonly TargetField[] = [
  {
    name: 'ad_account_id',
    label: 'Ad account ID',
    hint: 'The digits of the ad account in LinkedIn Campaign Manager, such as 506336348.',
    isValid: text => AD_ACCOUNT_ID.test(text),
  },
]

/** Reads the stored `config` of a destination: `{"ad_account_id": "..."}`. */
function parseLinkedinTarget({ ad_account_id }: TargetConfig): LinkedinTarget | null {
  return typeof ad_account_id === 'string' && AD_ACCOUNT_ID.test(ad_account_id)
    ? { adAccountId: ad_account_id }
    : null
}

const CREDENTIAL_FORMS: readonly CredentialForm[] = [
  {
    kind: 'refresh_token',
    label: 'Refresh token',
    hint: 'Of a person with access to the ad account, with the client of your application.',
  },
  {
    kind: 'bearer_token',
    label: 'Access token',
    hint: 'With the scopes rw_conversions and r_ads. It ends after a time: enter a new one then.',
  },
]

const CONVERSION_TARGETS: ConversionTargets = {
  label: 'Conversion rules',
  hint: 'The number of the conversion rule in Campaign Manager, whose method is Conversions API.',
  pattern: '^[0-9]{1,20}$',
}

/**
 * We could not verify LinkedIn's number in the TCF, so its purposes must be consented: storage,
 * profiles for ads, personalized ads and measurement. LinkedIn has no member for consent, so a
 * refusal of personalized ads refuses the event.
 */
export const LINKEDIN_CONSENT_NEEDS: PlatformConsentNeeds = {
  vendor: 'linkedin',
  isSocialMedia: true,
  tcfPurposes: [1, 3, 4, 7],
  tcfVendorId: null,
  isAdditionalProvider: false,
  personalization: { refusal: 'refuses', tcfPurposes: [] },
}

const NO_COUNTS = unsupportedReport(
  'The Conversions API has no counts of received events. LinkedIn Campaign Manager shows the ' +
    'conversions that it attributed to ads.',
)

const NO_QUALITY = unsupportedReport(
  'The Conversions API has no match quality. LinkedIn Campaign Manager shows it.',
)

/** An answer to a thousand events with an error for each. */
const ANSWER_BYTES_MAX = 2_097_152

const UNWRITABLE_MESSAGE = 'The access token holds characters that no request can carry.'

async function sendBatch(
  { baseUrl, version, timeoutMilliseconds }: LinkedinOptions,
  { accessToken, testCode }: Connection<LinkedinTarget>,
  events: readonly OutboundEvent[],
): Promise<SendAnswer> {
  if (testCode !== null) {
    return refuseUnsent(events.map(() => toSendError('local', { message: TEST_MESSAGE })))
  }
  const headers = buildBearerHeaders(accessToken)
  const url = URL.parse(`${baseUrl}/rest/conversionEvents`)
  if (headers === null || url === null) return noAnswer('config', UNWRITABLE_MESSAGE)
  headers.set('linkedin-version', version)
  headers.set('x-restli-protocol-version', '2.0.0')
  headers.set('x-restli-method', 'BATCH_CREATE')
  const response = await requestApi({
    url,
    headers,
    createBody: () => linkedinPayload(events),
    accessToken,
    answerBytesMax: ANSWER_BYTES_MAX,
    timeoutMilliseconds,
  })
  return 'outcome' in response ? response : readConversionAnswer(response, events.length)
}

/** LinkedIn would count a test event like any other, so none is sent. */
const TEST_MESSAGE = 'LinkedIn has no test mode and would count the event: it was not sent.'

const REQUESTS_PER_MINUTE = 600
const REQUESTS_PER_DAY = 300_000

/** Other senders report limits of an application. A bearer token does not tell its own. */
function requestBudget({ target, credential }: CredentialOwner<LinkedinTarget>): RequestBudget {
  const owner =
    credential.kind === 'refresh_token' ? credential.clientId : `account ${target.adAccountId}`
  return {
    key: `linkedin:${owner}`,
    perMinute: REQUESTS_PER_MINUTE,
    perDay: REQUESTS_PER_DAY,
  }
}

/** The simulator takes any account and any refresh token. */
function createSimulatorDestination() {
  const credential = {
    kind: 'refresh_token',
    client_id: 'simulator',
    client_secret: 'simulator',
    refresh_token: `simulator-${randomUUID()}`,
  }
  return {
    config: { ad_account_id: `50${randomInt(1_000_000, 10_000_000)}` },
    credential: JSON.stringify(credential),
  }
}
