import { randomInt, randomUUID } from 'node:crypto'
import { isObject, parseJsonObject } from '../../../runtime/util/is-object.ts'
import { DAY_SECONDS } from '../../../runtime/util/time.ts'
import type { PlatformConsentNeeds } from '../../consent/consent-statement.ts'
import { buildBearerHeaders, noAnswer, requestApi } from '../client.ts'
import type { CredentialForm } from '../credentials.ts'
import type {
  Connection,
  OutboundEvent,
  Platform,
  PlatformCounting,
  SendAnswer,
  TargetField,
} from '../platform.ts'
import { toSendError } from '../send-answer.ts'
import { joinClickCookies } from './click-cookies.ts'
import {
  buildGraphUrl,
  classifyErrorCode,
  classifyHttpStatus,
  type MetaOptions,
  readWaitSeconds,
  UNWRITABLE_MESSAGE,
} from './graph-api.ts'
import { normalizeMetaIdentity } from './normalize-identity.ts'
import {
  canMatchPerson,
  MATCH_KEYS,
  type MetaTarget,
  metaPayload,
  parseMetaTarget,
  validateMetaEvent,
} from './payload.ts'
import { metaReports } from './reports/client.ts'

const BATCH_EVENTS_MAX = 1_000
const WINDOW_DAYS = { default: 7, physical_store: 62 }
/** An answer to a batch is a few hundred bytes. */
const ANSWER_BYTES_MAX = 65_536
const TRACE_CHARACTERS_MAX = 100

/** Meta's Conversions API over HTTP. The token travels in a header, because URLs are logged. */
export function metaPlatform(options: MetaOptions): Platform<MetaTarget> {
  return {
    name: 'meta',
    identityMark: 'm',
    label: 'Meta',
    targetFields: TARGET_FIELDS,
    credentialForms: CREDENTIAL_FORMS,
    consentNeeds: META_CONSENT_NEEDS,
    batchMax: BATCH_EVENTS_MAX,
    windowSeconds: actionSource =>
      DAY_SECONDS *
      (actionSource === 'physical_store' ? WINDOW_DAYS.physical_store : WINDOW_DAYS.default),
    parseTarget: parseMetaTarget,
    normalizeIdentity: normalizeMetaIdentity,
    joinClickIds: joinClickCookies,
    canMatchPerson,
    validateEvent: validateMetaEvent,
    buildBody: ({ testCode }, events) => metaPayload(events, testCode),
    send: (connection, events) => sendBatch(options, connection, events),
    counting: META_COUNTING,
    ...metaReports(options),
    matchKeys: MATCH_KEYS,
    createTestCode,
    createSimulatorDestination,
  }
}

/**
 * Meta is not on the vendor list of the TCF, so its purposes must be consented: storage, profiles
 * for ads, personalized ads and measurement. Nothing tells it to count an event without using it
 * for personalized ads, so a refusal of those refuses the event.
 */
export const META_CONSENT_NEEDS: PlatformConsentNeeds = {
  vendor: 'meta',
  isSocialMedia: true,
  tcfPurposes: [1, 3, 4, 7],
  tcfVendorId: null,
  isAdditionalProvider: true,
  personalization: { refusal: 'refuses', tcfPurposes: [] },
}

const META_COUNTING: PlatformCounting = {
  source: 'day_report',
  label: 'Events received from servers',
  meaning:
    'Events that the dataset received from servers, by hour and event name, as Events Manager ' +
    'shows them. Ads Manager shows conversions that Meta attributed to ads, which are fewer.',
  noValues: 'The statistics by event name that Meta gives for a day have counts only, no values.',
}

const TARGET_FIELDS: readonly TargetField[] = [
  {
    name: 'dataset_id',
    label: 'Dataset ID',
    hint: 'The digits below the name of the dataset in Meta Events Manager, such as 1234567890.',
    isValid: text => parseMetaTarget({ dataset_id: text }) !== null,
  },
]

const CREDENTIAL_FORMS: readonly CredentialForm[] = [
  {
    kind: 'bearer_token',
    label: 'Access token',
    hint: 'Generate it in Events Manager under Settings, Conversions API.',
  },
]

async function sendBatch(
  options: MetaOptions,
  connection: Connection<MetaTarget>,
  events: readonly OutboundEvent[],
): Promise<SendAnswer> {
  const url = buildGraphUrl(options, [connection.target.datasetId, 'events'])
  const headers = buildBearerHeaders(connection.accessToken)
  if (!url || !headers) return noAnswer('config', UNWRITABLE_MESSAGE)
  const response = await requestApi({
    url,
    headers,
    createBody: () => metaPayload(events, connection.testCode),
    accessToken: connection.accessToken,
    answerBytesMax: ANSWER_BYTES_MAX,
    timeoutMilliseconds: options.timeoutMilliseconds,
  })
  if ('outcome' in response) return response
  const { status, body } = response
  const traceId = response.headers.get('x-fb-trace-id')?.slice(0, TRACE_CHARACTERS_MAX) ?? null
  const answer = { status, body, waitSeconds: readWaitSeconds(response), traceId }
  return readMetaAnswer(answer, events.length)
}

const TEXT_CHARACTERS_MAX = 500

export interface MetaResponse {
  status: number
  body: string
  /** How long the headers ask the client to wait, in seconds; 0 without a request. */
  waitSeconds: number
  /** The trace id from the headers, for answers whose body names none. */
  traceId: string | null
}

/** Reads Meta's answer to a batch of `sentCount` events (Meta: Graph API, Handling Errors). */
export function readMetaAnswer(response: MetaResponse, sentCount: number): SendAnswer {
  const body = parseJsonObject(response.body)
  const error = objectMember(body, 'error')
  if (error) return readRefusal(response, error)
  if (response.status === 200 && body?.events_received === sentCount) {
    return {
      ...commonMembers(response, body),
      outcome: 'accepted',
      answer: { events_received: sentCount, messages: body.messages ?? [] },
      error: null,
    }
  }
  return readUnreadable(response, body)
}

function readRefusal(response: MetaResponse, error: Record<string, unknown>): SendAnswer {
  const code = integerMember(error, 'code')
  const subcode = integerMember(error, 'error_subcode')
  const isTransient = error.is_transient === true
  const { outcome, waitSecondsMin } =
    code === null
      ? classifyHttpStatus(response.status)
      : classifyErrorCode({ code, subcode, isTransient })
  return {
    ...commonMembers(response, error),
    outcome,
    waitSeconds: Math.max(response.waitSeconds, waitSecondsMin),
    answer: { error: publicMembers(error) },
    error: toSendError(outcome, {
      code,
      subcode,
      message: textMember(error, 'message') || 'The platform gave no reason.',
      user_title: textMember(error, 'error_user_title'),
      user_message: textMember(error, 'error_user_msg'),
      http_status: response.status,
    }),
  }
}

/** HTML from a proxy, an empty or cut body, or fewer events received than were sent. */
function readUnreadable(response: MetaResponse, body: Record<string, unknown> | null): SendAnswer {
  const received = body?.events_received
  const message =
    received === undefined
      ? `The platform answered HTTP ${response.status} without a readable body.`
      : `The platform reports ${toShortJson(received)} events received, not as many as sent.`
  const { outcome, waitSecondsMin } = classifyHttpStatus(response.status)
  return {
    ...commonMembers(response, body),
    outcome,
    waitSeconds: Math.max(response.waitSeconds, waitSecondsMin),
    answer: received === undefined ? null : { events_received: received },
    error: toSendError(outcome, { message, http_status: response.status }),
  }
}

/** The members that every answer has. */
function commonMembers(response: MetaResponse, named: Record<string, unknown> | null) {
  return {
    waitSeconds: response.waitSeconds,
    httpStatus: response.status,
    traceId: traceMember(named) ?? response.traceId,
  }
}

const PUBLIC_MEMBERS = [
  'message',
  'type',
  'code',
  'error_subcode',
  'is_transient',
  'error_user_title',
  'error_user_msg',
  'fbtrace_id',
  'error_data',
]

function publicMembers(error: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(
    PUBLIC_MEMBERS.filter(name => error[name] !== undefined).map(name => {
      const value = error[name]
      return [name, typeof value === 'string' ? value.slice(0, TEXT_CHARACTERS_MAX) : value]
    }),
  )
}

function objectMember(body: Record<string, unknown> | null, name: string) {
  const value = body?.[name]
  return isObject(value) ? value : null
}

/** The store takes no NUL; a trace id that is not plain visible text is not one. */
function traceMember(named: Record<string, unknown> | null): string | null {
  const text = textMember(named, 'fbtrace_id')
  return text !== null && /^[!-~]+$/.test(text) ? text : null
}

function textMember(body: Record<string, unknown> | null, name: string): string | null {
  const value = body?.[name]
  return typeof value === 'string' ? value.slice(0, TEXT_CHARACTERS_MAX) : null
}

function integerMember(body: Record<string, unknown>, name: string): number | null {
  const value = body[name]
  return Number.isSafeInteger(value) ? (value as number) : null
}

function toShortJson(value: unknown): string {
  return JSON.stringify(value).slice(0, TEXT_CHARACTERS_MAX)
}

/** In the form of Meta's own codes. Meta answers 200 to a code that it does not know, too. */
function createTestCode(): string {
  return `TEST${randomInt(10_000, 100_000)}`
}

/** The simulator takes any number and any token. Fifteen digits, as Meta's dataset ids have. */
function createSimulatorDestination() {
  const digits = BigInt(`0x${randomUUID().replaceAll('-', '')}`) % 900_000_000_000_000n
  return {
    config: { dataset_id: String(100_000_000_000_000n + digits) },
    credential: `simulator-${randomUUID()}`,
  }
}
