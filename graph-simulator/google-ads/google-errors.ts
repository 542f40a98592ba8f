import { randomBytes } from 'node:crypto'
import { type HttpResponse, jsonResponse } from '../http-messages.ts'

/** An error of a Google API, before it is serialized as JSON. */
export interface GoogleError {
  /** HTTP status and `error.code`. */
  code: number
  /** The name of the gRPC code. */
  status: string
  message: string
  /** `ErrorInfo.reason`. */
  reason: string
  violations?: Violation[]
}

/** What is wrong with one field of a request, or odd about an optional one. */
export interface Violation {
  field: string
  description: string
  reason: string
}

const DOMAIN = 'datamanager.googleapis.com'
const TYPES = 'type.googleapis.com/google.rpc.'

/** Google's error body: a status with details of known types. Messages never repeat the request. */
export function googleErrorResponse(error: GoogleError, requestId: string): HttpResponse {
  const { code, status, message, reason, violations = [] } = error
  const details: Record<string, unknown>[] = [
    { '@type': `${TYPES}ErrorInfo`, reason, domain: DOMAIN },
    { '@type': `${TYPES}RequestInfo`, requestId },
  ]
  if (violations.length > 0) {
    details.push({ '@type': `${TYPES}BadRequest`, fieldViolations: violations })
  }
  return jsonResponse(code, { error: { code, message, status, details } })
}

/** The names of gRPC codes by the HTTP statuses that Google's APIs give them. */
const STATUSES: Record<number, string> = {
  400: 'INVALID_ARGUMENT',
  401: 'UNAUTHENTICATED',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  429: 'RESOURCE_EXHAUSTED',
  500: 'INTERNAL',
  503: 'UNAVAILABLE',
  504: 'DEADLINE_EXCEEDED',
}

export function statusOf(code: number): string {
  return STATUSES[code] ?? 'UNKNOWN'
}

export function invalidRequest(violations: Violation[]): GoogleError {
  return {
    code: 400,
    status: statusOf(400),
    message: 'There was a problem with the request.',
    reason: 'INVALID_ARGUMENT',
    violations,
  }
}

export function refused(code: number, reason: string, message: string): GoogleError {
  return { code, status: statusOf(code), message, reason }
}

const REQUEST_ID_BYTES = 16

/** A new request ID. */
export function newRequestId(): string {
  return `t-${randomBytes(REQUEST_ID_BYTES).toString('base64url')}`
}
