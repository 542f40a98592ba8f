import { isObject, parseJsonObject } from '../../../runtime/util/is-object.ts'
import type { ApiResponse } from '../client.ts'
import type { EventAnswer, SendAnswer, SendError, SendOutcome } from '../platform.ts'
import { type Advice, classifyStatus, toRefusedAnswer } from '../refused-answer.ts'
import { toSendError } from '../send-answer.ts'

/**
 * Reads the answer to a batch. With `continueOnValidationError`, Microsoft keeps the valid events
 * and names the others by their place. It repeats their values, so no text of it is kept.
 */
export function readEventsAnswer(response: ApiResponse, eventCount: number): SendAnswer {
  const body = parseJsonObject(response.body)
  const received = Number.isSafeInteger(body?.eventsReceived) ? Number(body?.eventsReceived) : null
  const details = listDetails(body, eventCount)
  const isTaken = response.status < 300 || (response.status === 400 && (received ?? 0) > 0)
  if (isTaken && received !== null && details !== null) {
    const answer = readReceived(response, { details, received, eventCount })
    return { ...answer, traceId: readTraceId(body) }
  }
  return readRefusal(response, body)
}

interface Detail {
  index: number
  isWarning: boolean
  /** The member and the code. */
  text: string
}

/** The places of what is invalid; null where one names no event of the request. */
function listDetails(body: Record<string, unknown> | null, eventCount: number): Detail[] | null {
  const error = body?.error
  if (error === undefined || error === null) return []
  if (!isObject(error) || !Array.isArray(error.details)) return null
  const details = error.details.map(readDetail)
  const isValid = details.every(detail => detail !== null && detail.index < eventCount)
  return isValid ? details.filter(detail => detail !== null) : null
}

const CODE = /^[A-Za-z]{1,60}$/
/** Names of members, which no value of an event can be. */
const MEMBERS = new Set(
  `data eventtype eventname eventid eventtime eventsourceurl referrerurl adstorageconsent userdata
  em ph externalid msclkid clientipaddress clientuseragent customdata value currency transactionid
  itemids items id name price quantity`.split(/\s+/),
)

function readDetail(listed: unknown): Detail | null {
  if (!isObject(listed)) return null
  const { index, propertyName, errorCode, isWarning } = listed
  if (!Number.isSafeInteger(index) || Number(index) < 0) return null
  const parts = typeof propertyName === 'string' ? propertyName.split(/[.[\]]+/) : []
  const isKnown = parts.every(part => MEMBERS.has(part.toLowerCase()) || /^\d{0,4}$/.test(part))
  const member = isKnown && parts.length > 0 ? String(propertyName).slice(0, 100) : 'An event'
  const code = typeof errorCode === 'string' && CODE.test(errorCode) ? ` (${errorCode})` : ''
  return {
    index: Number(index),
    isWarning: isWarning === true,
    text: `${member}${code} is not valid.`,
  }
}

interface Received {
  details: readonly Detail[]
  received: number
  eventCount: number
}

const WARNINGS_MAX = 20
const MISCOUNTED = 'Microsoft received another number of events than were sent.'

function readReceived(
  { status: httpStatus, waitSeconds }: ApiResponse,
  { details, received, eventCount }: Received,
): SendAnswer {
  const errors = new Map<number, SendError>()
  for (const { index, isWarning, text: message } of details) {
    if (isWarning || errors.has(index)) continue
    errors.set(index, toSendError('permanent', { message, http_status: httpStatus }))
  }
  // Whether it counts the invalid ones is not documented.
  const isCounted = received === eventCount || received === eventCount - errors.size
  const unknown = toSendError('unknown', { message: MISCOUNTED, http_status: httpStatus })
  const other: EventAnswer = isCounted
    ? { outcome: 'accepted', error: null }
    : { outcome: 'unknown', error: unknown }
  const isNoneLeft = errors.size === eventCount
  const warnings = [...new Set(details.flatMap(({ isWarning, text }) => (isWarning ? text : [])))]
  return {
    outcome: isNoneLeft ? 'permanent' : other.outcome,
    waitSeconds,
    httpStatus,
    traceId: null,
    answer: {
      events_received: received,
      ...(warnings.length > 0 && { warnings: warnings.slice(0, WARNINGS_MAX) }),
    },
    error: isNoneLeft ? (errors.get(0) ?? null) : other.error,
    ...(errors.size > 0 && { events: settleEach(errors, other, eventCount) }),
  }
}

function settleEach(
  errors: ReadonlyMap<number, SendError>,
  other: EventAnswer,
  eventCount: number,
): EventAnswer[] {
  return Array.from({ length: eventCount }, (_, index) => {
    const error = errors.get(index)
    return error ? { outcome: 'permanent', error } : other
  })
}

const TRACE_ID = /^[\w-]{8,64}$/

function readTraceId(body: Record<string, unknown> | null): string | null {
  const id = body?.traceId
  return typeof id === 'string' && TRACE_ID.test(id) ? id : null
}

function readRefusal(response: ApiResponse, body: Record<string, unknown> | null): SendAnswer {
  const { status } = response
  const error = isObject(body?.error) ? body.error : null
  const code = typeof error?.code === 'string' && CODE.test(error.code) ? error.code : null
  const details = error === null || !Array.isArray(error.details) ? [] : error.details
  const detail = details.map(readDetail).find(one => one !== null && !one.isWarning)
  const stated = detail?.text ?? (code === null ? '' : `It names the code ${code}.`)
  return toRefusedAnswer(response, {
    outcome: classify(status, error !== null),
    message: `Microsoft answered HTTP ${status}. ${stated}`.trim(),
    advice: ADVICE,
    traceId: readTraceId(body),
    answer: code === null ? null : { code },
  })
}

/** Any other refusal than these says nothing certain about the events. */
function classify(status: number, isMicrosofts: boolean): Exclude<SendOutcome, 'accepted'> {
  const outcome = classifyStatus(status, isMicrosofts)
  const isOfEvents = status === 400 || status === 413 || status === 422
  return outcome === 'permanent' && !isOfEvents ? 'unknown' : outcome
}

/** What a person can do about a refusal that stops a destination. */
const ADVICE: Advice = {
  auth: 'Copy the token of the UET tag again from Microsoft Advertising.',
  config: 'Check the tag ID, and that Microsoft enabled the Conversions API for the account.',
}
