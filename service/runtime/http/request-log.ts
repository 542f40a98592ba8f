import type { FastifyBaseLogger } from 'fastify'
import { isStoreUnavailable } from '../db/database-errors.ts'
import { type Refusal, reasonOfStatus } from './refusal.ts'

/** The fields of a log line: no query string, no body, no header and no address. */
export interface LoggedRequest {
  id: string
  method: string
  routeOptions: { url?: string | undefined }
  log: FastifyBaseLogger
}

export interface SentResponse {
  statusCode: number
  /** Milliseconds. */
  elapsedTime: number
}

/** Reason codes of failed requests until they are answered; null when they are already logged. */
const reasons = new WeakMap<object, string | null>()

/** For a failure response without a thrown error, such as the 503 of `/readyz`. */
export function recordRefusalReason(request: object, reason: string): void {
  reasons.set(request, reason)
}

/**
 * Call this when a thrown error is turned into a response. A bug is logged immediately with its
 * error, because the response may never reach the caller. The reason of a refusal is kept for the
 * one line that `logResponse` writes.
 */
export function recordFailure(request: LoggedRequest, error: Error, refusal: Refusal): void {
  if (refusal.status !== 500) {
    recordRefusalReason(request, formatReason(error, refusal))
    return
  }
  reasons.set(request, null)
  const { method, routeOptions, id } = request
  const view = { method, route: routePattern(routeOptions), status: refusal.status }
  request.log.error({ err: error, ...view, request_id: id }, 'request failed')
}

/** PostgreSQL's code is more specific than "unavailable": 53100 is a full disk. */
function formatReason(error: Error & { code?: unknown }, { reason }: Refusal): string {
  const isCoded = isStoreUnavailable(error) && typeof error.code === 'string'
  return isCoded ? `${reason}:${error.code}` : reason
}

/**
 * Writes one line per request: `info` for a refusal, `warn` for one that the caller cannot fix,
 * `error` for a bug, and `debug` for a success.
 */
export function logResponse(request: LoggedRequest, response: SentResponse): void {
  const { statusCode } = response
  const { log } = request
  if (statusCode < 400) {
    if (log.level !== 'debug' && log.level !== 'trace') return
    log.debug(describeResponse(request, response), 'request answered')
    return
  }
  const reason = reasons.get(request)
  if (reason === null) return
  const view = {
    ...describeResponse(request, response),
    reason: reason ?? reasonOfStatus(statusCode),
  }
  if (statusCode < 500 || EXPECTED_REASONS.has(view.reason)) log.info(view, 'request refused')
  else if (EXPECTED_SERVER_STATUSES.has(statusCode)) log.warn(view, 'request refused')
  else log.error(view, 'request failed')
}

/** The platform refused (502) or the service is unavailable (503): not a bug. */
const EXPECTED_SERVER_STATUSES = new Set([502, 503])

/** A supervisor asks `/readyz` until the start is over, and while the process shuts down. */
const EXPECTED_REASONS = new Set(['not_ready:start', 'not_ready:shutdown'])

function describeResponse(
  { id, method, routeOptions }: LoggedRequest,
  { statusCode, elapsedTime }: SentResponse,
) {
  return {
    request_id: id,
    method,
    route: routePattern(routeOptions),
    status: statusCode,
    milliseconds: Math.round(elapsedTime * 10) / 10,
  }
}

/** Logs the route pattern, because paths contain ids of events and accounts. */
function routePattern({ url }: LoggedRequest['routeOptions']): string {
  return url ?? 'unknown'
}

/** Bytes that were answered but never became a request. */
export interface MalformedRequest {
  requestId: string
  status: number
}

export function logMalformedRequest(log: FastifyBaseLogger, request: MalformedRequest): void {
  const { requestId, status } = request
  const view = { request_id: requestId, route: 'unknown', status, reason: reasonOfStatus(status) }
  log.info(view, 'request refused')
}
