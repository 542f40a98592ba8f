/** Field-level faults: dotted path -> sentences. */
export type FieldErrors = Record<string, string[]>

/**
 * A "no" that the caller can act on. Verbs throw it, the doorframe answers it. The message is
 * shown to the caller, so it never holds a secret or a raw identifier.
 */
export class Refusal extends Error {
  override name = 'Refusal'
  readonly status: number
  readonly errors: FieldErrors | undefined
  readonly headers: Record<string, string>
  /** A code for the log; without one, that of the status. */
  readonly reason: string

  constructor(
    status: number,
    message: string,
    more: { errors?: FieldErrors; headers?: Record<string, string>; reason?: string } = {},
  ) {
    super(message)
    this.status = status
    this.errors = more.errors
    this.headers = more.headers ?? {}
    this.reason = more.reason ?? reasonOfStatus(status)
  }

  /** 422 with every wrong field. */
  static ofFields(errors: FieldErrors): Refusal {
    return new Refusal(422, summaryOf(errors), { errors })
  }

  /** 401: the same words for every credential that does not open the door. */
  static unauthenticated(message = 'Unauthenticated.'): Refusal {
    return new Refusal(401, message, { headers: { 'www-authenticate': 'Bearer' } })
  }

  static notFound(message: string): Refusal {
    return new Refusal(404, message)
  }

  /** 503: nothing was kept, and the same request may be sent again after `retryAfterSeconds`. */
  static unavailable(message: string, retryAfterSeconds: number, reason = 'unavailable'): Refusal {
    const headers = { 'retry-after': String(retryAfterSeconds) }
    return new Refusal(503, message, { headers, reason })
  }
}

/** Laravel's form, which clients of this interface know: the first sentence and a count. */
function summaryOf(errors: FieldErrors): string {
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

/** The code of a refusal that has no more particular one. */
export function reasonOfStatus(status: number): string {
  return REASONS[status] ?? `status_${status}`
}
