import { isObject, parseJsonObject } from '../../../runtime/util/is-object.ts'
import type { ApiResponse } from '../client.ts'
import type { ReceiptResult, SendAnswer, SendOutcome, Unavailable } from '../platform.ts'
import { toSendError } from '../send-answer.ts'

/** Reads the answer to a batch. A request ID is a receipt: the result comes later. */
export function readIngestAnswer(
  response: ApiResponse,
  { isTest }: { isTest: boolean },
): SendAnswer {
  const body = parseJsonObject(response.body)
  const { requestId, fieldWarnings = [] } = body ?? {}
  if (response.status !== 200 || typeof requestId !== 'string' || requestId === '') {
    return readRefusal(response)
  }
  const id = requestId.slice(0, ID_CHARACTERS_MAX)
  return {
    outcome: 'accepted',
    waitSeconds: response.waitSeconds,
    httpStatus: response.status,
    traceId: toTraceId(id),
    answer: { field_warnings: listWarnings(fieldWarnings) },
    error: null,
    // Google keeps no result of a request that it only validated.
    receiptId: isTest ? null : id,
  }
}

const ID_CHARACTERS_MAX = 200
const TEXT_CHARACTERS_MAX = 500
const WARNINGS_MAX = 20

/** Without descriptions, which may repeat what was sent. */
function listWarnings(warnings: unknown): { field: string; reason: string }[] {
  if (!Array.isArray(warnings)) return []
  return warnings
    .filter(isObject)
    .slice(0, WARNINGS_MAX)
    .map(({ field, reason }) => ({ field: shorten(field), reason: shorten(reason) }))
}

function shorten(value: unknown): string {
  return String(value ?? '').slice(0, ID_CHARACTERS_MAX)
}

/** The store takes no NUL; an ID that is not plain visible text is not one. */
function toTraceId(id: unknown): string | null {
  return typeof id === 'string' && /^[!-~]{1,200}$/.test(id) ? id : null
}

function readRefusal(response: ApiResponse): SendAnswer {
  const error = readGoogleError(response)
  const outcome = classify(error)
  const { reasons, message, requestId } = error
  const text = message.slice(0, TEXT_CHARACTERS_MAX)
  return {
    outcome,
    waitSeconds: Math.max(response.waitSeconds, outcome === 'throttle' ? THROTTLE_SECONDS_MIN : 0),
    httpStatus: response.status,
    traceId: toTraceId(requestId),
    answer: error.isGoogles ? { error: { status: error.status, reasons } } : null,
    error: toSendError(outcome, {
      code: error.isGoogles ? response.status : null,
      message: reasons.length === 0 ? text : `${reasons.join(', ')}: ${text}`,
      user_message: reasons.map(reason => ADVICE[reason]).find(Boolean) ?? null,
      http_status: response.status,
    }),
  }
}

/** The budget of a project is counted by the minute. */
const THROTTLE_SECONDS_MIN = 60

/** What a person can do about a refusal that stops a destination. */
const ADVICE: Record<string, string> = {
  ACCESS_TOKEN_SCOPE_INSUFFICIENT: 'Grant the credential the scope of the Data Manager API.',
  INSUFFICIENT_AUTHENTICATION_SCOPES: 'Grant the credential the scope of the Data Manager API.',
  SERVICE_DISABLED: 'Enable the Data Manager API in the Cloud project of the credential.',
  PERMISSION_DENIED: 'Make the credential a user of the Google Ads account.',
  INVALID_CONVERSION_ACTION_ID: 'Check the conversion actions of the destination.',
  INVALID_CONVERSION_ACTION_TYPE: 'Use conversion actions of the type WEBPAGE or UPLOAD_CLICKS.',
  TERMS_AND_CONDITIONS_NOT_SIGNED: 'Accept the terms for customer data in Google Ads.',
}

interface GoogleError {
  httpStatus: number
  /** Whether it is an error body of Google's, and not a page of a proxy. */
  isGoogles: boolean
  status: string
  message: string
  /** The reasons of the fields, else that of the whole request. */
  reasons: string[]
  requestId: unknown
}

const REASONS_MAX = 10

/** Google's errors: a status with details of known types, of which any may be missing. */
function readGoogleError({ status: httpStatus, body }: ApiResponse): GoogleError {
  const error = parseJsonObject(body)?.error
  if (!isObject(error)) {
    const message = `The platform answered HTTP ${httpStatus} without a readable body.`
    return { httpStatus, isGoogles: false, status: '', message, reasons: [], requestId: null }
  }
  const details = Array.isArray(error.details) ? error.details.filter(isObject) : []
  const violations = details.flatMap(({ fieldViolations }) =>
    Array.isArray(fieldViolations) ? fieldViolations.filter(isObject) : [],
  )
  const isCode = (reason: unknown): reason is string =>
    typeof reason === 'string' && /^[A-Z][A-Z0-9_]{1,99}$/.test(reason)
  const ofFields = [...new Set(violations.map(({ reason }) => reason).filter(isCode))]
  const ofRequest = details.map(({ reason }) => reason).filter(isCode)
  return {
    httpStatus,
    isGoogles: true,
    status: shorten(error.status),
    message: typeof error.message === 'string' ? error.message : 'The platform gave no reason.',
    reasons: (ofFields.length > 0 ? ofFields : ofRequest).slice(0, REASONS_MAX),
    requestId: details.find(({ requestId }) => requestId !== undefined)?.requestId ?? null,
  }
}

/** What stops a destination, whichever event it came with. */
const CONFIG_REASONS = [
  /^INVALID_(?:DESTINATION|CONVERSION_ACTION_.+)$/,
  /_(?:NOT_SIGNED|MISMATCH)$/,
  /_(?:NOT_ENABLED|DATA_POLICY_PROHIBITS)_/,
  /^(?:NOT_ALLOWLISTED|PERMISSION_DENIED|SERVICE_DISABLED)$/,
]
/** The token is valid and may not do this: another one must be entered. */
const SCOPE_REASON = /^(?:ACCESS_TOKEN_SCOPE_INSUFFICIENT|INSUFFICIENT_AUTHENTICATION_SCOPES)$/
const RETRY_REASONS = new Set(['INTERNAL_ERROR', 'DEADLINE_EXCEEDED'])

function classify({
  httpStatus,
  isGoogles,
  reasons,
}: GoogleError): Exclude<SendOutcome, 'accepted'> {
  if (httpStatus === 429 || reasons.includes('RESOURCE_EXHAUSTED')) return 'throttle'
  if (httpStatus === 413) return 'permanent'
  // A proxy's page says nothing about the events: Google may have them.
  if (!isGoogles) return 'unknown'
  if (httpStatus === 401 || reasons.some(reason => SCOPE_REASON.test(reason))) return 'auth'
  if (httpStatus === 403 || httpStatus === 404) return 'config'
  if (reasons.some(isConfigReason)) return 'config'
  if (httpStatus >= 500 || reasons.some(reason => RETRY_REASONS.has(reason))) return 'retry'
  return httpStatus >= 400 ? 'permanent' : 'unknown'
}

function isConfigReason(reason: string): boolean {
  return CONFIG_REASONS.some(form => form.test(reason))
}

const STATES: Record<string, ReceiptResult['state']> = {
  PROCESSING: 'processing',
  SUCCESS: 'succeeded',
  PARTIAL_SUCCESS: 'partially_succeeded',
  FAILED: 'failed',
}

/** Reads the result of a request: for each of its conversion actions, in counts by reason. */
export function readReceiptAnswer(response: ApiResponse): ReceiptResult | Unavailable {
  const body = parseJsonObject(response.body)
  const listed = body?.requestStatusPerDestination
  const destinations = Array.isArray(listed) ? listed.filter(isObject) : []
  const isKnown = destinations.every(({ requestStatus }) => STATES[String(requestStatus)])
  if (response.status !== 200 || destinations.length === 0 || !isKnown) {
    return toUnavailable(response)
  }
  const errors = sumCounts(destinations, 'errorInfo', 'errorCounts')
  const counts = destinations.map(({ eventsIngestionStatus }) =>
    isObject(eventsIngestionStatus) ? readCount(eventsIngestionStatus.recordCount) : null,
  )
  // Google counts what was sent, not what it processed.
  const sent = counts.includes(null) ? null : sum(counts.map(count => count ?? 0))
  const failed = sum(errors.map(({ count }) => count))
  return {
    kind: 'receipt',
    state: joinStates(destinations, errors),
    recordCount: sent === null ? null : Math.max(0, sent - failed),
    errors,
    warnings: sumCounts(destinations, 'warningInfo', 'warningCounts'),
    answer: null,
  }
}

/** Google had these conversions before: a copy that it refuses is not lost. */
export const COPY_REASON = 'DUPLICATE_TRANSACTION_ID'

function joinStates(
  destinations: readonly Record<string, unknown>[],
  errors: ReceiptResult['errors'],
): ReceiptResult['state'] {
  const states = new Set(destinations.map(({ requestStatus }) => STATES[String(requestStatus)]))
  if (states.has('processing')) return 'processing'
  const [only] = states
  if (states.size > 1 || only === undefined) return 'partially_succeeded'
  const hasCopies = errors.some(({ reason }) => reason === COPY_REASON)
  return only === 'failed' && hasCopies ? 'partially_succeeded' : only
}

const REASON_PREFIX = /^PROCESSING_(?:ERROR|WARNING)_(?:REASON_)?/

function sumCounts(
  destinations: readonly Record<string, unknown>[],
  info: string,
  member: string,
): { reason: string; count: number }[] {
  const sums = new Map<string, number>()
  for (const destination of destinations) {
    const counts = isObject(destination[info]) ? destination[info][member] : null
    for (const entry of Array.isArray(counts) ? counts.filter(isObject) : []) {
      const reason = shorten(entry.reason).replace(REASON_PREFIX, '')
      sums.set(reason, (sums.get(reason) ?? 0) + (readCount(entry.recordCount) ?? 0))
    }
  }
  return [...sums].map(([reason, count]) => ({ reason, count }))
}

/** An int64 is text in the JSON of protocol buffers. A default of 0 may be left out. */
function readCount(count: unknown): number | null {
  const value = Number(count ?? 0)
  return Number.isSafeInteger(value) && value >= 0 ? value : null
}

function sum(counts: readonly number[]): number {
  return counts.reduce((total, count) => total + count, 0)
}

function toUnavailable(response: ApiResponse): Unavailable {
  const { outcome, waitSeconds, error } = readRefusal(response)
  const cause = CAUSES[outcome] ?? 'unreadable'
  return { kind: 'unavailable', cause, sentence: error?.message ?? '', waitSeconds }
}

const CAUSES: Partial<Record<SendOutcome, Unavailable['cause']>> = {
  throttle: 'throttled',
  auth: 'credential',
  config: 'permission',
  retry: 'out_of_reach',
}
