import type { ConversionPlatform, ConversionPost } from '../conversion-platform.ts'
import { type ConversionState, takeCall } from '../conversion-state.ts'
import {
  checkObject,
  type FieldCheck,
  type FieldErrors,
  integer,
  list,
  object,
  oneOf,
  text,
} from '../field-check.ts'
import { type HttpResponse, jsonResponse } from '../http-messages.ts'

const CALLS_PER_MINUTE = 600
const ELEMENTS_MAX = 5_000

/** LinkedIn's Conversions API, which takes a whole batch or nothing. */
export const LINKEDIN: ConversionPlatform = {
  name: 'linkedin',
  path: /^\/rest\/conversionEvents$/,
  refuse: (status, message, code) => createError(status, message, code),
  listEvents: body => {
    const { elements } = (body ?? {}) as { elements?: unknown }
    return Array.isArray(elements) ? elements : []
  },
  eventIdOf: event => (event as Partial<LinkedinEvent> | null)?.eventId,
  isTest: () => false,
  receive: receiveConversions,
  dedupKeyOf: event => {
    const { conversion, eventId } = event as LinkedinEvent
    return eventId === undefined ? null : `${conversion} ${eventId}`
  },
}

interface LinkedinEvent {
  conversion: string
  conversionHappenedAt: number
  eventId?: string
  user: { userIds: { idType: string; idValue: string }[]; userInfo?: object }
}

/** As LinkedIn's answers have them. */
const CODES: Record<number, string> = {
  401: 'REVOKED_ACCESS_TOKEN',
  403: 'ACCESS_DENIED',
  426: 'NONEXISTENT_VERSION',
  429: 'TOO_MANY_REQUESTS',
}

function createError(status: number, message: string, serviceErrorCode?: number): HttpResponse {
  const code = CODES[status]
  return jsonResponse(status, {
    status,
    ...(code && { code }),
    ...(serviceErrorCode !== undefined && { serviceErrorCode }),
    message,
  })
}

/** The oldest version that was served on 2026-11-28. */
const OLDEST_VERSION = 202_512

function receiveConversions(post: ConversionPost, part: ConversionState) {
  const refuse = (status: number, message: string) => ({
    reply: createError(status, message),
    kept: [],
  })
  const { headers } = post
  const version = String(headers['linkedin-version'] ?? '')
  if (!/^\d{6}$/.test(version)) return refuse(400, 'A version must be present.')
  if (Number(version) < OLDEST_VERSION) {
    return refuse(426, `Requested version ${version}01 is not active`)
  }
  if (headers['x-restli-protocol-version'] !== '2.0.0') return refuse(400, 'Invalid protocol.')
  if (headers['x-restli-method'] !== 'BATCH_CREATE') return refuse(400, 'Invalid method.')
  if (!takeCall(part, post, CALLS_PER_MINUTE)) return refuse(429, 'Resource level throttle limit')
  const kept = LINKEDIN.listEvents(post.body) as LinkedinEvent[]
  if (kept.length === 0 || kept.length > ELEMENTS_MAX) return refuse(400, 'Invalid batch size.')
  const errors = kept.flatMap((event, index) => {
    const found = findEventErrors(event, post.at)
    return found.length === 0 ? [] : [`Index: ${index}, ${found.join('')}`]
  })
  if (errors.length > 0) return refuse(422, errors.join(' '))
  return { reply: jsonResponse(200, { elements: kept.map(() => ({ status: 201 })) }), kept }
}

const ID_TYPES = [
  ...['SHA256_EMAIL', 'LINKEDIN_FIRST_PARTY_ADS_TRACKING_UUID', 'ACXIOM_ID'],
  ...['ORACLE_MOAT_ID', 'PLAINTEXT_IP_ADDRESS', 'GOOGLE_AID'],
]
const TEXT_MAX = 1_000
const anyText = text(1, TEXT_MAX)

const EVENT_MEMBERS: Record<string, FieldCheck> = {
  conversion: anyText,
  conversionHappenedAt: integer(0, Number.MAX_SAFE_INTEGER),
  conversionValue: object({ currencyCode: text(3, 3), amount: anyText }, [
    ...['currencyCode', 'amount'],
  ]),
  eventId: anyText,
  user: object(
    {
      userIds: list(object({ idType: oneOf(...ID_TYPES), idValue: anyText }), TEXT_MAX),
      userInfo: object({
        firstName: anyText,
        lastName: anyText,
        title: anyText,
        companyName: anyText,
        countryCode: text(2, 2),
      }),
      externalIds: list(anyText, 1),
    },
    ['userIds'],
  ),
}

const REQUIRED = ['conversion', 'conversionHappenedAt', 'user']
const RULE = /^urn:lla:llaPartnerConversion:\d{1,20}$/
const DIGEST = /^[0-9a-f]{64}$/
const AGE_MILLISECONDS_MAX = 90 * 86_400_000
const AHEAD_MILLISECONDS_MAX = 300_000

/** In the words of LinkedIn's refusals, which repeat values. */
function findEventErrors(event: LinkedinEvent, at: Date): string[] {
  const errors: FieldErrors = {}
  checkObject(event, { path: '', members: EVENT_MEMBERS, required: REQUIRED }, errors)
  const shapes = Object.entries(errors).map(([path, texts]) => [path, texts.join(' ')] as const)
  const found = shapes.length > 0 ? shapes : findValueErrors(event, at)
  return found.map(([path, message]) => `ERROR :: /${path.replaceAll('.', '/')} :: ${message}\n`)
}

function findValueErrors(event: LinkedinEvent, at: Date): (readonly [string, string])[] {
  const { conversion, conversionHappenedAt: time, user } = event
  const errors: [string, string][] = []
  if (!RULE.test(conversion)) errors.push(['conversion', `${conversion} is not a valid urn`])
  const age = at.getTime() - time
  if (age > AGE_MILLISECONDS_MAX || age < -AHEAD_MILLISECONDS_MAX) {
    errors.push(['conversionHappenedAt', `${time} is out of range`])
  }
  if (user.userIds.length === 0 && user.userInfo === undefined) {
    errors.push(['user/userIds', 'an identifier is required'])
  }
  for (const { idType, idValue } of user.userIds) {
    const isBad = idType === 'SHA256_EMAIL' && !DIGEST.test(idValue)
    if (isBad) errors.push(['user/userIds', `${idValue} is not a SHA-256 digest`])
  }
  return errors
}
