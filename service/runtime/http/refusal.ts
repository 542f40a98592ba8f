import type { RefusalRule } from '@signalbox/contract/refusal-rules.ts'

/** Errors by field: dotted path -> sentences. */
export type FieldErrors = Record<string, string[]>

/** A page and the text of the link to it. */
export interface NextStep {
  label: string
  path: string
}

/** A rule that a field of a request broke, for the counts of refusals. */
export interface BrokenRule {
  field: string
  rule: RefusalRule
}

interface RefusalDetails {
  errors?: FieldErrors
  rules?: readonly BrokenRule[]
  headers?: Record<string, string>
  reason?: string
  nextStep?: NextStep
}

/**
 * An expected error that the caller can act on. Operations throw it, and the HTTP layer sends it.
 * The caller sees the message, so it never contains a secret or a raw identifier.
 */
export class Refusal extends Error {
  override name = 'Refusal'
  readonly status: number
  readonly errors: FieldErrors | undefined
  /** Why the fields are invalid, in the order in which they were found. */
  readonly rules: readonly BrokenRule[]
  readonly headers: Record<string, string>
  /** A code for the log; by default that of the status. */
  readonly reason: string
  /** Where a person can change that, for the error page. */
  readonly nextStep: NextStep | undefined

  constructor(status: number, message: string, more: RefusalDetails = {}) {
    super(message)
    this.status = status
    this.errors = more.errors
    this.rules = more.rules ?? []
    this.headers = more.headers ?? {}
    this.reason = more.reason ?? reasonOfStatus(status)
    this.nextStep = more.nextStep
  }

  /** 422 with every invalid field. */
  static ofFields(errors: FieldErrors, rules: readonly BrokenRule[] = []): Refusal {
    return new Refusal(422, summarizeErrors(errors), { errors, rules })
  }

  /** 401, with the same message for every invalid credential. */
  static unauthenticated(message = 'Unauthenticated.', reason = 'unauthenticated'): Refusal {
    return new Refusal(401, message, { headers: { 'www-authenticate': 'Bearer' }, reason })
  }

  static notFound(message = 'There is nothing at this path.'): Refusal {
    return new Refusal(404, message)
  }

  /** 503: nothing was stored, and the caller may retry after `retryAfterSeconds`. */
  static unavailable(message: string, retryAfterSeconds: number, reason = 'unavailable'): Refusal {
    const headers = { 'retry-after': String(retryAfterSeconds) }
    return new Refusal(503, message, { headers, reason })
  }
}

/** The format of Laravel, which clients of this API know: the first sentence and a count. */
function summarizeErrors(errors: FieldErrors): string {
  const sentences = Object.values(errors).flat()
  const more = sentences.length - 1
  if (more < 1) return sentences[0] ?? 'The request is invalid.'
  return `${sentences[0]} (and ${more} more error${more > 1 ? 's' : ''})`
}

const REASONS: Record<number, string> = {
  400: 'invalid_request',
  401: 'unauthenticated',
  403: 'forbidden',
  404: 'not_found',
  405: 'method_not_allowed',
  408: 'request_timeout',
  409: 'conflict',
  413: 'body_too_large',
  415: 'unsupported_media_type',
  422: 'invalid_fields',
  429: 'rate_limited',
  431: 'headers_too_large',
  500: 'internal_error',
  502: 'platform_refused',
  503: 'unavailable',
}

/** The code of a refusal without a more specific one. */
export function reasonOfStatus(status: number): string {
  return REASONS[status] ?? `status_${status}`
}
