import type { FastifyBaseLogger } from 'fastify'
import { isStoreUnavailable } from '../db/database-errors.ts'
import { type Refusal, reasonOfStatus } from './refusal.ts'

/** What a line says of a request: no query string, no body, no header and no address. */
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

/** Reason codes of requests that failed, until they are answered. Null: the log has it already. */
const reasons = new WeakMap<object, string | null>()

/** For an answer that is a refusal although nothing was thrown, such as `/readyz` with 503. */
export function recordRefusalReason(request: object, reason: string): void {
  reasons.set(request, reason)
}

/**
 * To be called by whatever turns something thrown into an answer. A bug is logged at once, with its
 * error, because nobody can say whether the answer will reach the caller. A refusal is an answer
 * that we meant to give: its reason is kept for the one line that tells of it.
 */
export function recordFailure(request: LoggedRequest, error: Error, refusal: Refusal): void {
  if (refusal.status !== 500) {
    recordRefusalReason(request, refusalReason(error, refusal))
    return
  }
  reasons.set(request, null)
  const { method, routeOptions, id } = request
  const view = { method, route: routePattern(routeOptions), status: refusal.status }
  request.log.error({ err: error, ...view, request_id: id }, 'request failed')
}

/** PostgreSQL's code says more than "out of reach": 53100 is a full disk. */
function refusalReason(error: Error & { code?: unknown }, { reason }: Refusal): string {
  const isCoded = isStoreUnavailable(error) && typeof error.code === 'string'
  return isCoded ? `${reason}:${error.code}` : reason
}

/**
 * One line a request: a refusal is never an error of ours, so it is told of at `info`, or at `warn`
 * when it is not for the caller to change. What went well is told of at `debug` alone.
 */
export function logResponse(request: LoggedRequest, answer: SentResponse): void {
  const { statusCode } = answer
  const { log } = request
  if (statusCode < 400) {
    if (log.level !== 'debug' && log.level !== 'trace') return
    log.debug(describeResponse(request, answer), 'request answered')
    return
  }
  const reason = reasons.get(request)
  if (reason === null) return
  const view = {
    ...describeResponse(request, answer),
    reason: reason ?? reasonOfStatus(statusCode),
  }
  if (statusCode < 500) log.info(view, 'request refused')
  else if (EXPECTED_SERVER_STATUSES.has(statusCode)) log.warn(view, 'request refused')
  else log.error(view, 'request failed')
}

/** The platform refused (502), or we could not do it now (503): no bug of ours. */
const EXPECTED_SERVER_STATUSES = new Set([502, 503])

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

/** The pattern of the route and not the path, which names events and people's accounts. */
function routePattern({ url }: LoggedRequest['routeOptions']): string {
  return url ?? 'unknown'
}

/** Bytes that were answered although they never became a request. */
export interface MalformedRequest {
  requestId: string
  status: number
}

export function logMalformedRequest(log: FastifyBaseLogger, broken: MalformedRequest): void {
  const { requestId, status } = broken
  const view = { request_id: requestId, route: 'unknown', status, reason: reasonOfStatus(status) }
  log.info(view, 'request refused')
}
