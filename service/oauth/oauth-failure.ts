import { refusalOf } from '../http/failure-answers.ts'
import { Refusal } from '../http/refusal.ts'

/** What an OAuth endpoint answers instead of the shape of the other interfaces (RFC 6749, 5.2). */
export interface OauthError {
  status: number
  headers: Record<string, string>
  body: { error: string; error_description: string }
}

/**
 * Any failure in OAuth's shape. A code says what to do: `invalid_request` will never do unchanged,
 * `temporarily_unavailable` will after Retry-After.
 */
export function oauthFailure(error: Error, url: string): OauthError {
  const refusal = refusalOf(error, url)
  const { status, message, headers } = refusal
  const code = error instanceof OauthRefusal ? error.code : codeOf(refusal)
  const body = { error: code, error_description: message }
  return { status: statusOf(status), headers, body }
}

/** A "no" with a code of its own. */
export class OauthRefusal extends Refusal {
  override name = 'OauthRefusal'
  readonly code: string

  constructor(code: string, message: string) {
    super(400, message)
    this.code = code
  }
}

function codeOf({ status }: Refusal): string {
  if (status === 429 || status === 503) return 'temporarily_unavailable'
  if (status === 401) return 'invalid_token'
  if (status === 403) return 'access_denied'
  return status >= 500 ? 'server_error' : 'invalid_request'
}

/** The error table of the specification knows no other status for what a caller got wrong. */
function statusOf(status: number): number {
  const isKept = status >= 500 || [401, 403, 429].includes(status)
  return isKept ? status : 400
}
