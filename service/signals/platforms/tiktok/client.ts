import { randomInt, randomUUID } from 'node:crypto'
import { DAY_SECONDS } from '../../../runtime/util/time.ts'
import type { PlatformConsentNeeds } from '../../consent/consent-statement.ts'
import { buildTokenHeaders, noAnswer, requestApi } from '../client.ts'
import type { CredentialForm } from '../credentials.ts'
import type {
  Connection,
  EventAnswer,
  OutboundEvent,
  Platform,
  SendAnswer,
  SendError,
  TargetConfig,
  TargetField,
} from '../platform.ts'
import { refuseUnsent, unsupportedReport } from '../send-answer.ts'
import { readTrackAnswer } from './api-answers.ts'
import {
  canMatchPerson,
  joinTiktokClick,
  MATCH_KEYS,
  normalizeTiktokIdentity,
} from './normalize-identity.ts'
import {
  EVENT_NAMES,
  findTargetError,
  sourceOf,
  type TiktokTarget,
  tiktokPayload,
  validateTiktokEvent,
} from './payload.ts'

/** Where the TikTok Business API is, how long to wait for it, and how old its events may be. */
export interface TiktokOptions {
  /** The API's origin, or the simulator's. */
  baseUrl: string
  /** Such as `v1.3`. */
  version: string
  windowDays: number
  timeoutMilliseconds: number
}

const BATCH_EVENTS_MAX = 1_000

/** TikTok's Events API 2.0 over HTTP. The token travels in a header. */
export function tiktokPlatform(options: TiktokOptions): Platform<TiktokTarget> {
  return {
    name: 'tiktok',
    identityMark: 't',
    label: 'TikTok',
    targetFields: TARGET_FIELDS,
    credentialForms: CREDENTIAL_FORMS,
    consentNeeds: TIKTOK_CONSENT_NEEDS,
    batchMax: BATCH_EVENTS_MAX,
    windowSeconds: () => options.windowDays * DAY_SECONDS,
    parseTarget: parseTiktokTarget,
    normalizeIdentity: normalizeTiktokIdentity,
    joinClickIds: joinTiktokClick,
    canMatchPerson,
    eventNames: EVENT_NAMES,
    splitBatch: events => [...Map.groupBy(events, sourceOf).values()],
    validateEvent: validateTiktokEvent,
    buildBody: (connection, events) => tiktokPayload(events, connection),
    send: (connection, events) => sendBatch(options, connection, events),
    readDayCounts: async () => NO_COUNTS,
    readMatchQuality: async () => NO_QUALITY,
    matchKeys: MATCH_KEYS,
    createTestCode: () => `TEST${randomInt(10_000, 100_000)}`,
    createSimulatorDestination,
  }
}

const EVENT_SET_ID = /^\d{1,25}$/

const PIXEL_CODE = /^[A-Za-z0-9]{4,64}$/

const TARGET_FIELDS: readonly TargetField[] = [
  {
    name: 'pixel_code',
    label: 'Pixel ID',
    hint: 'The ID of the pixel in TikTok Events Manager under Web, such as C4A0EXAMPLE1GH2IJKLM.',
    isValid: text => PIXEL_CODE.test(text),
  },
  {
    name: 'offline_event_set_id',
    label: 'Offline event set ID',
    hint: 'The digits of the event set in Events Manager under Offline, for store purchases.',
    optional: true,
    isValid: text => EVENT_SET_ID.test(text),
  },
]

/** Reads the stored `config` of a destination: `{"pixel_code": "...", ...}`. */
function parseTiktokTarget({
  pixel_code,
  offline_event_set_id,
}: TargetConfig): TiktokTarget | null {
  if (typeof pixel_code !== 'string' || !PIXEL_CODE.test(pixel_code)) return null
  const setId = offline_event_set_id ?? ''
  if (setId === '') return { pixelCode: pixel_code, offlineEventSetId: null }
  return typeof setId === 'string' && EVENT_SET_ID.test(setId)
    ? { pixelCode: pixel_code, offlineEventSetId: setId }
    : null
}

const CREDENTIAL_FORMS: readonly CredentialForm[] = [
  {
    kind: 'bearer_token',
    label: 'Access token',
    hint: 'Generate it in TikTok Events Manager, in the settings of the pixel under Events API.',
  },
]

/**
 * We know of no vendor of TikTok's in the TCF, so its purposes must be consented: storage, profiles
 * for ads, personalized ads and measurement. Its limited data use is for some places only, so a
 * refusal of personalized ads refuses the event.
 */
export const TIKTOK_CONSENT_NEEDS: PlatformConsentNeeds = {
  vendor: 'tiktok',
  isSocialMedia: true,
  tcfPurposes: [1, 3, 4, 7],
  tcfVendorId: null,
  isAdditionalProvider: false,
  personalization: { refusal: 'refuses', tcfPurposes: [] },
}

const NO_COUNTS = unsupportedReport(
  'The Events API has no counts by day. TikTok Events Manager shows them.',
)

const NO_QUALITY = unsupportedReport(
  'The Events API has no match quality. TikTok Events Manager shows it.',
)

/** Sends events of one source. Those that the destination cannot send are settled here. */
async function sendBatch(
  options: TiktokOptions,
  connection: Connection<TiktokTarget>,
  events: readonly OutboundEvent[],
): Promise<SendAnswer> {
  const refusals = events.map(event => findTargetError(event, connection))
  const sent = events.filter((_, index) => refusals[index] === null)
  if (sent.length === 0) return refuseUnsent(refusals.filter(refusal => refusal !== null))
  const answer = await request(options, connection, sent)
  // A batch that TikTok refuses is halved, and the halves tell which events are not sent.
  const isHalved = answer.outcome === 'permanent' && sent.length > 1
  if (isHalved || sent.length === events.length) return answer
  const { outcome, error } = answer
  return {
    ...answer,
    events: refusals.map(refusal => toEventAnswer(refusal) ?? { outcome, error }),
  }
}

function toEventAnswer(refusal: SendError | null | undefined): EventAnswer | null {
  return refusal ? { outcome: 'permanent', error: refusal } : null
}

/** An answer has one code for all events; a page of a proxy may be anything. */
const ANSWER_BYTES_MAX = 65_536

const UNWRITABLE_MESSAGE = 'The access token holds characters that no request can carry.'

async function request(
  { baseUrl, version, timeoutMilliseconds }: TiktokOptions,
  connection: Connection<TiktokTarget>,
  events: readonly OutboundEvent[],
): Promise<SendAnswer> {
  const { accessToken } = connection
  const headers = buildTokenHeaders('access-token', accessToken)
  const url = URL.parse(`${baseUrl}/open_api/${version}/event/track/`)
  if (headers === null || url === null) return noAnswer('config', UNWRITABLE_MESSAGE)
  const createBody = () => tiktokPayload(events, connection)
  const answerBytesMax = ANSWER_BYTES_MAX
  const asked = { url, headers, createBody, accessToken, answerBytesMax, timeoutMilliseconds }
  const response = await requestApi(asked)
  return 'outcome' in response ? response : readTrackAnswer(response, events.length)
}

/** The simulator takes any pixel, any event set and any token. */
function createSimulatorDestination() {
  const pixel = randomUUID().replaceAll('-', '').slice(0, 20).toUpperCase()
  return {
    config: {
      pixel_code: pixel,
      offline_event_set_id: `73${randomInt(10_000_000, 100_000_000)}`,
    },
    credential: `simulator-${randomUUID()}`,
  }
}
