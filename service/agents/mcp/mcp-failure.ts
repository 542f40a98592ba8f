import { refusalOf } from '../../http/failure-answers.ts'
import { oauthFailure } from '../../oauth/oauth-failure.ts'

/** Codes of JSON-RPC 2.0, section 5.1. */
const PARSE_ERROR = -32_700
const INVALID_REQUEST = -32_600
const INTERNAL_ERROR = -32_603
/** Of the range that is left to servers: the door says no, whatever the message. */
const REFUSED = -32_000

export interface McpFailure {
  status: number
  headers: Record<string, string>
  body: object
}

/**
 * What was thrown before the library took over. A missing or dead token is OAuth's business (RFC
 * 6750), everything else is an error of JSON-RPC whose id nobody could know.
 */
export function mcpFailure(error: Error, target: string, bodyBytesMax: number): McpFailure {
  const { status, message, headers } = refusalOf(error, target, bodyBytesMax)
  if (status === 401) return oauthFailure(error, target)
  const body = { jsonrpc: '2.0', error: { code: codeOf(status), message }, id: null }
  return { status, headers, body }
}

function codeOf(status: number): number {
  if (status === 400) return PARSE_ERROR
  if (status === 413 || status === 415) return INVALID_REQUEST
  return status === 500 ? INTERNAL_ERROR : REFUSED
}
