import {
  APIConnectionError,
  APIError,
  APITimeoutError,
  createAPIError,
  type ErrorAnswer,
  RateLimitError,
  readRequestId,
} from './errors.ts'
import type { RequestInfo } from './hooks.ts'
import { encodeBody } from './request-body.ts'
import { parseBody, readBody } from './response-body.ts'
import { planRetry } from './retry-policy.ts'
import { type CallOptions, mergeLimits, type Settings } from './settings.ts'

/** A request of the API, before it is sent. */
export interface APIRequest {
  /** Such as `events.create`. */
  operation: string
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  /** Below the base URL; ids are encoded. */
  path: string
  query?: Record<string, string | number | undefined>
  body?: unknown
  /** A body that is JSON already, in place of `body`. Read before each attempt. */
  json?: () => string
  /**
   * Takes the answer of an attempt. An error that it returns is a failure like any other. Of such a
   * request, rate limits are waited for until the call ends: many events share one limit.
   */
  receive?: (answer: ErrorAnswer, attempt: number) => APIError | null
  headers?: Record<string, string>
  /** Null for the operations that take no credential. The token by default. */
  credential?: string | null
  /** Whether repeating it is harmless; true by default. */
  isRetried?: boolean
}

/** The facts of the answer that a result came from. */
export interface ResponseFacts {
  status: number
  headers: Headers
  /** Quote it when you contact support. */
  requestId: string | null
  /** How many requests were made. */
  attempts: number
}

/** A body of the API and, not enumerable, the facts of its answer. */
export type Result<Body> = Body & { readonly lastResponse: ResponseFacts }

/** Sends a request, again if it fails and repeating it is harmless. */
export async function send<Body extends object>(
  settings: Settings,
  request: APIRequest,
  options: CallOptions = {},
): Promise<Result<Body>> {
  const { maxRetries, timeout, totalTimeout } = mergeLimits(settings, options)
  const credential = request.credential === undefined ? settings.readToken() : request.credential
  const prepared = prepareRequest(settings, request, credential)
  const deadline = performance.now() + totalTimeout
  const { onRetry } = settings.hooks
  let waits = 0
  for (let attempt = 1; ; attempt += 1) {
    options.signal?.throwIfAborted()
    const info = describeRequest(request, attempt)
    try {
      const limit = Math.min(timeout, deadline - performance.now())
      if (request.json) prepared.init.body = request.json()
      const answer = await sendOnce(settings, prepared, { info, limit, signal: options.signal })
      const failure = request.receive?.(answer, attempt) ?? null
      if (failure === null) return toResult<Body>(answer, attempt)
      throw failure
    } catch (error) {
      if (error instanceof APIError || error instanceof APIConnectionError) error.attempts = attempt
      if (request.receive && error instanceof RateLimitError && maxRetries > 0) waits += 1
      const isLast = request.isRetried === false || attempt - waits > maxRetries
      const delay = isLast ? null : planRetry(error, attempt)
      if (delay === null || performance.now() + delay >= deadline) throw error
      onRetry?.({ ...info, delayMilliseconds: delay })
      await sleep(delay, options.signal)
    }
  }
}

interface PreparedRequest {
  url: string
  init: RequestInit & { headers: Record<string, string> }
  credential: string | null
}

/** Everything that is the same at each attempt. */
function prepareRequest(
  { baseUrl, userAgent }: Settings,
  { method, path, query = {}, body, json, headers }: APIRequest,
  credential: string | null,
): PreparedRequest {
  const given = Object.entries(query).filter(([, value]) => value !== undefined)
  const text = Object.fromEntries(given.map(([name, value]) => [name, String(value)]))
  const search = new URLSearchParams(text).toString()
  const url = `${baseUrl}${path}${search === '' ? '' : `?${search}`}`
  const content = body === undefined ? undefined : encodeBody(body)
  const hasContent = content !== undefined || json !== undefined
  const init = {
    method,
    headers: {
      Accept: 'application/json',
      'User-Agent': userAgent,
      ...(hasContent && { 'Content-Type': 'application/json' }),
      ...(credential !== null && { Authorization: `Bearer ${credential}` }),
      ...headers,
    },
    ...(content !== undefined && { body: content }),
    redirect: 'manual' as const,
  }
  return { url, init, credential }
}

function describeRequest({ operation, method, path }: APIRequest, attempt: number): RequestInfo {
  return { operation, method, path, attempt, headers: {} }
}

interface Attempt {
  info: RequestInfo
  /** Milliseconds for this attempt. */
  limit: number
  signal: AbortSignal | undefined
}

/** One request. Throws an APIError, an APIConnectionError, or what the signal or a hook throws. */
async function sendOnce(
  { fetch, hooks }: Settings,
  { url, init, credential }: PreparedRequest,
  { info, limit, signal }: Attempt,
): Promise<ErrorAnswer> {
  hooks.onRequest?.(info)
  const controller = new AbortController()
  const abort = () => controller.abort()
  const timer = setTimeout(abort, limit)
  signal?.addEventListener('abort', abort)
  const startedAt = performance.now()
  let response: Response | null = null
  try {
    const headers = { ...info.headers, ...init.headers }
    response = await fetch(url, { ...init, headers, signal: controller.signal })
    return await readAnswer(response, credential)
  } catch (error) {
    signal?.throwIfAborted()
    if (error instanceof APIError) throw error
    if (controller.signal.aborted) {
      throw new APITimeoutError(`No complete answer came within ${Math.round(limit)} ms.`)
    }
    throw new APIConnectionError('The request failed before an answer was complete.', {
      cause: redactError(error, credential),
    })
  } finally {
    clearTimeout(timer)
    signal?.removeEventListener('abort', abort)
    const requestId = response && readRequestId(response.headers)
    const milliseconds = performance.now() - startedAt
    hooks.onResponse?.({ ...info, status: response?.status ?? null, requestId, milliseconds })
  }
}

/** Reads the whole answer. Throws an APIError unless it is a success with a JSON object. */
async function readAnswer(response: Response, credential: string | null): Promise<ErrorAnswer> {
  const { status, headers } = response
  const rawBody = await readBody(response)
  const body = rawBody === null ? null : parseBody(rawBody)
  const answer = { status, headers, rawBody: rawBody ?? '', body, message: '' }
  const isObject = typeof body === 'object' && body !== null && !Array.isArray(body)
  if (status >= 200 && status < 300 && isObject) return answer
  throw createAPIError({ ...answer, message: redact(describeAnswer(answer), credential) })
}

function describeAnswer({ status, body }: ErrorAnswer): string {
  if (status < 300) return `The answer with status ${status} is not a JSON object.`
  if (status < 400)
    return `The service answered with a redirect (${status}), which is not followed.`
  const message = (body as { message?: unknown } | null)?.message
  return typeof message === 'string' && message !== '' ? message : `Status ${status}.`
}

/** A body with the facts of its answer. */
export function toResult<Body extends object>(answer: ErrorAnswer, attempts: number): Result<Body> {
  const { status, headers } = answer
  const lastResponse = { status, headers, requestId: readRequestId(headers), attempts }
  return Object.defineProperty(answer.body as Body, 'lastResponse', {
    value: lastResponse,
  }) as Result<Body>
}

/** A proxy or a library may repeat what was sent. */
export function redact(text: string, credential: string | null): string {
  return credential === null ? text : text.replaceAll(credential, '[redacted]')
}

/** The message and the code of an error below, and no other member of it. */
function redactError(error: unknown, credential: string | null): Error {
  const { message, code, cause } = error as { message?: unknown; code?: unknown; cause?: unknown }
  const redacted = new Error(redact(String(message ?? error), credential), {
    ...(cause !== undefined && { cause: redactError(cause, credential) }),
  })
  redacted.stack = ''
  return typeof code === 'string' ? Object.assign(redacted, { code }) : redacted
}

/** Rejects with the reason of the signal. */
export function sleep(milliseconds: number, signal?: AbortSignal): Promise<void> {
  const { promise, resolve, reject } = createDeferred()
  const end = () => {
    clearTimeout(timer)
    reject(signal?.reason)
  }
  const timer = setTimeout(() => {
    signal?.removeEventListener('abort', end)
    resolve()
  }, milliseconds)
  signal?.addEventListener('abort', end, { once: true })
  return promise
}

/** Promise.withResolvers, which Node.js 20 does not have. */
export function createDeferred() {
  let resolve = () => {}
  let reject = (_reason: unknown) => {}
  const promise = new Promise<void>((onResolve, onReject) => {
    resolve = onResolve
    reject = onReject
  })
  return { promise, resolve, reject }
}
