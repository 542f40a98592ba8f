import type { EventResult } from './contract.generated.ts'

/** Where an error came from; one for each class. */
export type ErrorType =
  | 'bad_request'
  | 'authentication'
  | 'permission_denied'
  | 'not_found'
  | 'conflict'
  | 'payload_too_large'
  | 'unsupported_media_type'
  | 'unprocessable_entity'
  | 'rate_limit'
  | 'internal_server'
  | 'api'
  | 'redirect'
  | 'invalid_response'
  | 'connection'
  | 'timeout'
  | 'invalid_argument'
  | 'queue_full'
  | 'queue_closed'
  | 'webhook_verification'

/** Every error that this package throws, except that of your own AbortSignal. */
export class SignalboxError extends Error {
  override name = 'SignalboxError'
  readonly type: ErrorType
  /** Of `events.createEvents`: the results of the events before those of the failed request. */
  declare results?: EventResult[]
  constructor(type: ErrorType, message: string, options?: ErrorOptions) {
    super(message, options)
    this.type = type
  }
}

/** Refused before any request: the message says what is wrong. */
export class InvalidArgumentError extends SignalboxError {
  override name = 'InvalidArgumentError'
  constructor(message: string, options?: ErrorOptions) {
    super('invalid_argument', message, options)
  }
}

/** The queue has no room. The event was not added: keep it, or flush and add it again. */
export class QueueFullError extends SignalboxError {
  override name = 'QueueFullError'
  constructor(capacity: number) {
    super('queue_full', `The queue has no room: ${capacity} events wait or are in flight.`)
  }
}

/** The queue was closed. The event was not added. */
export class QueueClosedError extends SignalboxError {
  override name = 'QueueClosedError'
  constructor() {
    super('queue_closed', 'The queue is closed.')
  }
}

/** There was no answer, or it broke off. The request may have been processed. */
export class APIConnectionError extends SignalboxError {
  override name = 'APIConnectionError'
  /** How many requests were made. */
  attempts = 1
  constructor(message: string, { type, cause }: { type?: 'timeout'; cause?: Error } = {}) {
    super(type ?? 'connection', message, cause && { cause })
  }
}

/** An attempt, or the whole call, took longer than its timeout. */
export class APITimeoutError extends APIConnectionError {
  override name = 'APITimeoutError'
  constructor(message: string) {
    super(message, { type: 'timeout' })
  }
}

/** An answer that is not a success. */
export interface ErrorAnswer {
  status: number
  headers: Headers
  rawBody: string
  /** The body as JSON; null when it is none. */
  body: unknown
  message: string
}

/**
 * The service answered with an error. Headers and bodies are getters on the class, so that no log
 * prints them: they may repeat what was sent.
 */
export class APIError extends SignalboxError {
  override name = 'APIError'
  readonly status: number
  /** Quote it when you contact support. */
  readonly requestId: string | null
  /** How many requests were made. */
  attempts = 1
  readonly #answer: ErrorAnswer

  constructor(type: ErrorType, answer: ErrorAnswer) {
    super(type, answer.message)
    this.status = answer.status
    this.requestId = readRequestId(answer.headers)
    this.#answer = answer
  }

  get headers(): Headers {
    return this.#answer.headers
  }

  /** The body as it came. */
  get rawBody(): string {
    return this.#answer.rawBody
  }

  /** The body as JSON; null when it is none. */
  get body(): unknown {
    return this.#answer.body
  }

  /** Dotted path of a field -> what is wrong with it. Empty unless the service names fields. */
  get errors(): Record<string, string[]> {
    return readFieldErrors(this.#answer.body)
  }

  /** Seconds that the service asks to wait; null when it does not say. */
  get retryAfter(): number | null {
    return parseRetryAfter(this.#answer.headers.get('retry-after'), Date.now())
  }
}

/** 400 */
export class BadRequestError extends APIError {
  override name = 'BadRequestError'
}
/** 401: the token is missing, mistyped or revoked. */
export class AuthenticationError extends APIError {
  override name = 'AuthenticationError'
}
/** 403 */
export class PermissionDeniedError extends APIError {
  override name = 'PermissionDeniedError'
}
/** 404: nothing of this tracker has the id. */
export class NotFoundError extends APIError {
  override name = 'NotFoundError'
}
/** 409 */
export class ConflictError extends APIError {
  override name = 'ConflictError'
}
/** 413: the body is larger than 64 KiB. */
export class PayloadTooLargeError extends APIError {
  override name = 'PayloadTooLargeError'
}
/** 415 */
export class UnsupportedMediaTypeError extends APIError {
  override name = 'UnsupportedMediaTypeError'
}
/** 422: `errors` names every invalid field. */
export class UnprocessableEntityError extends APIError {
  override name = 'UnprocessableEntityError'
}
/** 429 */
export class RateLimitError extends APIError {
  override name = 'RateLimitError'
}
/** 500 to 599 */
export class InternalServerError extends APIError {
  override name = 'InternalServerError'
}
/** 3xx: redirects are not followed, because they would send the token elsewhere. */
export class RedirectError extends APIError {
  override name = 'RedirectError'
}
/** A success whose body is not a JSON object, such as the page of a proxy. */
export class InvalidResponseError extends APIError {
  override name = 'InvalidResponseError'
}

type APIErrorClass = new (type: ErrorType, answer: ErrorAnswer) => APIError

const CLASSES: Record<number, [ErrorType, APIErrorClass]> = {
  400: ['bad_request', BadRequestError],
  401: ['authentication', AuthenticationError],
  403: ['permission_denied', PermissionDeniedError],
  404: ['not_found', NotFoundError],
  409: ['conflict', ConflictError],
  413: ['payload_too_large', PayloadTooLargeError],
  415: ['unsupported_media_type', UnsupportedMediaTypeError],
  422: ['unprocessable_entity', UnprocessableEntityError],
  429: ['rate_limit', RateLimitError],
}

/** The error of an answer, by its status. */
export function createAPIError(answer: ErrorAnswer): APIError {
  const { status } = answer
  if (status < 300) return new InvalidResponseError('invalid_response', answer)
  if (status < 400) return new RedirectError('redirect', answer)
  if (status >= 500) return new InternalServerError('internal_server', answer)
  const [type, APIErrorOfStatus] = CLASSES[status] ?? ['api', APIError]
  return new APIErrorOfStatus(type, answer)
}

export function readRequestId(headers: Headers): string | null {
  return headers.get('request-id') ?? headers.get('x-request-id')
}

/** Seconds from a number or an HTTP date. Null when it is neither. */
function parseRetryAfter(text: string | null, now: number): number | null {
  if (text === null || text.trim() === '') return null
  if (/^\d+$/.test(text.trim())) return Number(text)
  const time = Date.parse(text)
  return Number.isNaN(time) ? null : Math.ceil((time - now) / 1_000)
}

function readFieldErrors(body: unknown): Record<string, string[]> {
  const errors = (body as { errors?: unknown } | null)?.errors
  if (typeof errors !== 'object' || errors === null) return {}
  const isSentences = (value: unknown) =>
    Array.isArray(value) && value.every(one => typeof one === 'string')
  return Object.fromEntries(Object.entries(errors).filter(([, value]) => isSentences(value)))
}
