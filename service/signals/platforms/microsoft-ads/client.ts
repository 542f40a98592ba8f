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
import { refuseUnsent, toSendError, unsupportedReport } from '../send-answer.ts'
import { readEventsAnswer } from './api-answers.ts'
import {
  canMatchPerson,
  createNormalizer,
  type IdentityForms,
  joinMicrosoftClick,
  MATCH_KEYS,
} from './normalize-identity.ts'
import { EVENT_NAMES, microsoftPayload, validateMicrosoftEvent, WINDOW_SECONDS } from './payload.ts'

/** Where the UET Conversions API is, how long to wait for it, and what is hashed for it. */
export interface MicrosoftAdsOptions extends IdentityForms {
  /** The API's origin, or the simulator's. */
  baseUrl: string
  /** Such as `v1`. */
  version: string
  timeoutMilliseconds: number
}

/** Where Microsoft Advertising receives events. */
export interface MicrosoftAdsTarget {
  tagId: string
}

const BATCH_EVENTS_MAX = 1_000

/** Microsoft's UET Conversions API over HTTP, a pilot. The token travels in a header. */
export function microsoftAdsPlatform(options: MicrosoftAdsOptions): Platform<MicrosoftAdsTarget> {
  return {
    name: 'microsoft_ads',
    identityMark: 'b',
    label: 'Microsoft Advertising',
    targetFields: TARGET_FIELDS,
    credentialForms: CREDENTIAL_FORMS,
    consentNeeds: MICROSOFT_CONSENT_NEEDS,
    batchMax: BATCH_EVENTS_MAX,
    windowSeconds: () => WINDOW_SECONDS,
    parseTarget: parseMicrosoftTarget,
    normalizeIdentity: createNormalizer(options),
    joinClickIds: joinMicrosoftClick,
    canMatchPerson,
    eventNames: EVENT_NAMES,
    validateEvent: validateMicrosoftEvent,
    buildBody: (_, events) => microsoftPayload(events),
    send: (connection, events) => sendBatch(options, connection, events),
    readDayCounts: async () => NO_COUNTS,
    readMatchQuality: async () => NO_QUALITY,
    matchKeys: MATCH_KEYS,
    createTestCode: () => `TEST${randomInt(10_000, 100_000)}`,
    createSimulatorDestination,
  }
}

/** The ID becomes a part of a URL's path. */
const TAG_ID = /^\d{1,20}$/

const TARGET_FIELDS: readonly TargetField[] = [
  {
    name: 'tag_id',
    label: 'UET tag ID',
    hint: 'The digits of the tag in Microsoft Advertising under Conversion tracking, UET tag.',
    isValid: text => TAG_ID.test(text),
  },
]

/** Reads the stored `config` of a destination: `{"tag_id": "..."}`. */
function parseMicrosoftTarget({ tag_id }: TargetConfig): MicrosoftAdsTarget | null {
  return typeof tag_id === 'string' && TAG_ID.test(tag_id) ? { tagId: tag_id } : null
}

const CREDENTIAL_FORMS: readonly CredentialForm[] = [
  {
    kind: 'bearer_token',
    label: 'Token of the tag',
    hint: 'The Conversions API token of the UET tag, which is no OAuth or developer token.',
  },
]

/**
 * Purposes must be consented: storage, profiles for ads, personalized ads and measurement. The
 * vendor in the TCF could not be verified. Nothing stands for a refusal of personalized ads, so it
 * refuses the event.
 */
export const MICROSOFT_CONSENT_NEEDS: PlatformConsentNeeds = {
  vendor: 'microsoft',
  isSocialMedia: false,
  tcfPurposes: [1, 3, 4, 7],
  tcfVendorId: null,
  isAdditionalProvider: false,
  personalization: { refusal: 'refuses', tcfPurposes: [] },
}

const NO_COUNTS = unsupportedReport(
  'The UET Conversions API has no counts by day. Microsoft Advertising shows them.',
)

const NO_QUALITY = unsupportedReport('The UET Conversions API has no match quality.')

const TEST_MESSAGE = 'Microsoft has no test mode that we know of, so test events are not sent.'
const UNWRITABLE_MESSAGE = 'The token holds characters that no request can carry.'
/** An answer to a thousand events with a few details for each. */
const ANSWER_BYTES_MAX = 2_097_152

async function sendBatch(
  { baseUrl, version, timeoutMilliseconds }: MicrosoftAdsOptions,
  { target, accessToken, testCode }: Connection<MicrosoftAdsTarget>,
  events: readonly OutboundEvent[],
): Promise<SendAnswer> {
  if (testCode !== null) {
    return refuseUnsent(events.map(() => toSendError('local', { message: TEST_MESSAGE })))
  }
  const headers = buildBearerHeaders(accessToken)
  const url = URL.parse(`${baseUrl}/${version}/${target.tagId}/events`)
  if (headers === null || url === null) return noAnswer('config', UNWRITABLE_MESSAGE)
  const createBody = () => microsoftPayload(events)
  const answerBytesMax = ANSWER_BYTES_MAX
  const asked = { url, headers, createBody, accessToken, answerBytesMax, timeoutMilliseconds }
  const response = await requestApi(asked)
  return 'outcome' in response ? response : readEventsAnswer(response, events.length)
}

/** The simulator takes any number and any token. */
function createSimulatorDestination() {
  return {
    config: { tag_id: `97${randomInt(100_000, 1_000_000)}` },
    credential: `simulator-${randomUUID()}`,
  }
}
