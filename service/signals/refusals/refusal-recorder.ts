import { isRefusalRule, type RefusalRule } from '@signalbox/contract/refusal-rules.ts'
import { EVENT_ID_CHARACTERS_MAX } from '@signalbox/contract/submissions.ts'
import { toRefusal } from '../../runtime/http/error-responses.ts'
import { readBearerToken } from '../../runtime/http/headers.ts'
import type { Refusal } from '../../runtime/http/refusal.ts'
import type { LimitName } from '../../runtime/http/request-limits.ts'
import type { RouteConfig, ServiceApp } from '../../runtime/http/service-app.ts'
import { isObject } from '../../runtime/util/is-object.ts'
import { HOUR_MILLISECONDS } from '../../runtime/util/time.ts'
import { hashTokenToBase64, parseTokenKind } from '../../runtime/util/token-format.ts'
import { parseIdempotencyKey } from '../ingestion/idempotency.ts'
import {
  describeForm,
  generalizeSentence,
  type RefusedSample,
  readRefusedValue,
} from './refusal-sample.ts'

/** A refused request. Its event ID stays in memory until it is stored as a keyed digest. */
export interface RefusedRequest {
  /** The tracker, or the SHA-256 of the credential in base64, where the tracker is not known. */
  sender: { trackerId: string } | { keyDigest: string }
  refusal: Refusal
  requestId: string
  eventId: string | null
  /** The event. It is looked at, and not kept. */
  body: unknown
  at: Date
}

/** Refused requests with one cause, within one hour. */
export interface RefusalCount {
  sender: RefusedRequest['sender']
  hour: Date
  status: number
  /** Dotted path; empty when the refusal is about no field. */
  field: string
  rule: RefusalRule
  /** Requests whose first error this is, so that their sum is the number of requests. */
  requests: number
  errors: number
  firstAt: Date
  lastAt: Date
  lastRequestId: string
  /** The latest ones, at most three. */
  eventIds: string[]
  /** What the API said last; empty when it named no field. */
  sentence: string
  /** The latest ones, at most three. */
  samples: RefusedSample[]
  /** Currency -> millionths, of the events whose value can be read. */
  values: Map<string, { millionths: bigint; requests: number }>
}

export const REFUSED_IDS_MAX = 3
export const SAMPLES_MAX = 3
/** Causes of all trackers between two writes. Further ones are counted as `other`. */
const COUNTS_MAX = 10_000
/** Unknown credentials between two writes: anyone can send any number of them. */
const UNKNOWN_KEYS_MAX = 1_000
const ERRORS_PER_REQUEST_MAX = 20
/** Of one cause between two writes. Values in further ones are not counted. */
const CURRENCIES_MAX = 10

/** The statuses by which createEvent refuses an event for good, or until its sender slows down. */
const COUNTED_STATUSES = new Set([400, 401, 403, 413, 415, 422, 429])

/**
 * Counts refused requests in memory until the worker stores them: a flood of invalid requests must
 * not become a flood of writes. All limits are fixed.
 */
export class RefusalRecorder {
  #counts = new Map<string, RefusalCount>()
  #keys = new Set<string>()

  /** Ignores refusals that end by themselves, such as that of an unavailable store. */
  record({ sender, refusal, requestId, eventId, body, at }: RefusedRequest): void {
    if (!COUNTED_STATUSES.has(refusal.status)) return
    const owner = 'trackerId' in sender ? sender.trackerId : sender.keyDigest
    if ('keyDigest' in sender && !this.#acceptKey(owner)) return
    const hour = new Date(Math.floor(at.getTime() / HOUR_MILLISECONDS) * HOUR_MILLISECONDS)
    const { status } = refusal
    const value = readRefusedValue(body)
    for (const [index, cause] of listCauses(refusal).entries()) {
      const { path, field, rule } = cause
      const key = [owner, hour.getTime(), status, field, rule].join(' ')
      const added = { sender, hour, status, field, rule, requestId, at }
      const count = this.#counts.get(key) ?? this.#start(owner, added)
      if (!count) return
      if (index === 0) count.requests += 1
      count.errors += 1
      count.lastAt = at
      count.lastRequestId = requestId
      if (eventId !== null) addEventId(count.eventIds, eventId)
      count.sentence = cause.sentence
      count.samples.unshift({ at, requestId, form: describeForm(body, path) })
      count.samples.length = Math.min(count.samples.length, SAMPLES_MAX)
      if (value) addValue(count.values, value)
    }
  }

  /** Returns what was counted since the last call. */
  take(): RefusalCount[] {
    const taken = [...this.#counts.values()]
    this.#counts = new Map()
    this.#keys = new Set()
    return taken
  }

  #acceptKey(key: string): boolean {
    if (this.#keys.has(key)) return true
    if (this.#keys.size === UNKNOWN_KEYS_MAX) return false
    this.#keys.add(key)
    return true
  }

  /** Beyond the limit, one cause per tracker, hour and status; null when those are too many. */
  #start(owner: string, cause: NewCause): RefusalCount | null {
    const isFull = this.#counts.size >= COUNTS_MAX
    if (this.#counts.size >= 2 * COUNTS_MAX) return null
    const { sender, hour, status, requestId, at } = cause
    const { field, rule } = isFull ? ({ field: '', rule: 'other' } as const) : cause
    const key = [owner, hour.getTime(), status, field, rule].join(' ')
    const known = this.#counts.get(key)
    if (known) return known
    const times = { firstAt: at, lastAt: at, lastRequestId: requestId }
    const zero = { requests: 0, errors: 0, eventIds: [], sentence: '', samples: [] }
    const count = { sender, hour, status, field, rule, ...zero, ...times, values: new Map() }
    this.#counts.set(key, count)
    return count
  }
}

type NewCause = Pick<RefusalCount, 'sender' | 'hour' | 'status' | 'field' | 'rule'> & {
  requestId: string
  at: Date
}

interface Cause {
  /** Empty when the refusal is about no field. */
  path: string
  /** As it is counted. */
  field: string
  rule: RefusalRule
  sentence: string
}

/** The rules of a field are in the order of its sentences. */
function listCauses(refusal: Refusal): Cause[] {
  const seen = new Map<string, number>()
  const causes = refusal.rules.slice(0, ERRORS_PER_REQUEST_MAX).map(({ field: path, rule }) => {
    const field = generalizeField(path)
    const place = seen.get(path) ?? 0
    seen.set(path, place + 1)
    const sentence = refusal.errors?.[path]?.[place] ?? ''
    return { path, field, rule, sentence: generalizeSentence(sentence, path, field) }
  })
  if (causes.length > 0) return causes
  return [{ path: '', field: '', rule: ruleOfRefusal(refusal), sentence: '' }]
}

function addValue(
  values: RefusalCount['values'],
  { currency, millionths }: NonNullable<ReturnType<typeof readRefusedValue>>,
): void {
  const known = values.get(currency) ?? { millionths: 0n, requests: 0 }
  if (known.requests === 0 && values.size >= CURRENCIES_MAX) return
  const requests = known.requests + 1
  values.set(currency, { millionths: known.millionths + millionths, requests })
}

/**
 * The path without positions in lists. A segment that does not look like the name of a member is
 * replaced, because it is the sender's own text and may be personal data.
 */
function generalizeField(field: string): string {
  return field
    .replaceAll(/\[\d+\]/g, '')
    .split('.')
    .map(segment => (/^[A-Za-z][A-Za-z_-]{0,39}$/.test(segment) ? segment : '*'))
    .slice(0, 6)
    .join('.')
}

const RATE_LIMIT_RULES: Partial<Record<string, RefusalRule>> = {
  'rate_limited:tracker': 'tracker_rate_limit',
  'rate_limited:publishable_key': 'key_rate_limit',
  'rate_limited:browser_address': 'address_rate_limit',
  'rate_limited:failed_authentications': 'failed_authentication_limit',
} satisfies Partial<Record<`rate_limited:${LimitName}`, RefusalRule>>

const STATUS_RULES: Partial<Record<number, RefusalRule>> = {
  400: 'unreadable_body',
  401: 'key_not_accepted',
  413: 'body_too_large',
  415: 'wrong_content_type',
}

function ruleOfRefusal({ status, reason }: Refusal): RefusalRule {
  if (isRefusalRule(reason)) return reason
  return RATE_LIMIT_RULES[reason] ?? STATUS_RULES[status] ?? 'other'
}

/** A sender that repeats one refused event must not push out the other IDs. */
function addEventId(ids: string[], id: string): void {
  if (id === '' || [...id].length > EVENT_ID_CHARACTERS_MAX || ids.includes(id)) return
  ids.push(id)
  if (ids.length > REFUSED_IDS_MAX) ids.shift()
}

export interface RefusalContext {
  refusals: RefusalRecorder
  now: () => Date
}

/** Those that accept events. `createEvents` counts the refused events of a batch by itself. */
const COUNTED_OPERATIONS: ReadonlySet<string | undefined> = new Set(['createEvent', 'createEvents'])

/**
 * Counts every event that createEvent refuses, and every batch refused as a whole. A request
 * without a credential, or with one that cannot be a key, belongs to no tracker and is not counted.
 */
export function recordRefusals(app: ServiceApp, context: RefusalContext): void {
  app.addHook('onError', (request, _reply, error, done) => {
    const { operationId } = request.routeOptions.config
    if (COUNTED_OPERATIONS.has(operationId)) recordRefusedRequest(context, request, error)
    done()
  })
  app.shortRoad.addErrorHook((request, error) => {
    const { operationId } = request.routeOptions.config as RouteConfig
    if (COUNTED_OPERATIONS.has(operationId)) recordRefusedRequest(context, request, error)
  })
}

/** Counts one request of an operation that accepts events. */
function recordRefusedRequest(
  { refusals, now }: { refusals: Pick<RefusalRecorder, 'record'>; now: () => Date },
  request: RefusedSource,
  error: Error,
): void {
  const sender = findSender(request)
  if (sender === null) return
  const { id: requestId, url, routeOptions } = request
  const refusal = toRefusal(error, url, routeOptions.bodyLimit)
  const eventId = readEventId(request)
  refusals.record({ sender, refusal, requestId, eventId, body: request.body, at: now() })
}

interface RefusedSource {
  id: string
  url: string
  routeOptions: { bodyLimit?: number | undefined }
  tracker: { trackerId: string } | null
  headers: { authorization?: string | undefined; 'idempotency-key'?: unknown }
  query: unknown
  body: unknown
}

function findSender({ tracker, headers, query }: RefusedSource): RefusedRequest['sender'] | null {
  if (tracker) return { trackerId: tracker.trackerId }
  const { key } = (query ?? {}) as { key?: unknown }
  const token = readBearerToken(headers.authorization) ?? key
  if (typeof token !== 'string' || parseTokenKind(token) === null) return null
  return { keyDigest: hashTokenToBase64(token) }
}

/** From the body or the header; the body is read only after the credential is accepted. */
function readEventId({ body, headers }: RefusedSource): string | null {
  if (isObject(body) && typeof body.event_id === 'string') return body.event_id
  const key = headers['idempotency-key']
  return typeof key === 'string' ? parseIdempotencyKey(key) : null
}
