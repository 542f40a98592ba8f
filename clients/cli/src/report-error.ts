import { APIConnectionError, APIError, SignalboxError } from '@signalbox/sdk'
import { CommanderError } from 'commander'
import { CliError } from './cli-error.ts'
import { exitCodeOf } from './exit-codes.ts'
import { printable, type Style } from './output/style.ts'

/** What went wrong, field by field, and what to do. No token, header or body is in it. */
export function formatError(error: unknown, style: Style): string {
  const lines = [`${style('red', 'Error:')} ${messageOf(error)}`]
  if (error instanceof APIError) {
    for (const [field, sentences] of Object.entries(error.errors)) {
      for (const sentence of sentences)
        lines.push(`  ${style('bold', printable(field))}  ${printable(sentence)}`)
    }
    if (error.retryAfter !== null) lines.push(`Try again in ${error.retryAfter} seconds.`)
  }
  const hint = hintOf(error)
  if (hint !== null) lines.push(hint)
  if (error instanceof APIError && error.requestId !== null) {
    lines.push(style('dim', `Request-Id: ${printable(error.requestId)}`))
  }
  return lines.map(line => `${line}\n`).join('')
}

/** The same for programs (`--json`), on standard error. */
export function errorJson(error: unknown): object {
  const answer = error instanceof APIError ? error : null
  return {
    error: {
      type: error instanceof SignalboxError ? error.type : typeOf(error),
      message: messageOf(error),
      hint: hintOf(error),
      exit_code: exitCodeOf(error),
      ...(answer && {
        status: answer.status,
        errors: answer.errors,
        request_id: answer.requestId,
        retry_after: answer.retryAfter,
      }),
    },
  }
}

function typeOf(error: unknown): string {
  if (error instanceof CommanderError) return 'usage'
  return error instanceof CliError ? (TYPES[error.exitCode] ?? 'failure') : 'failure'
}

const TYPES: Record<number, string> = {
  2: 'usage',
  4: 'authentication',
  5: 'not_found',
  6: 'refused',
  7: 'try_later',
  130: 'interrupted',
}

function messageOf(error: unknown): string {
  if (error instanceof CommanderError) return sentenceOf(error.message.replace(/^error: /, ''))
  return printable(error instanceof Error ? error.message : String(error))
}

/** Commander writes no capital letter and no full stop. */
function sentenceOf(text: string): string {
  const [first = '', ...rest] = text.split('\n')
  const sentence = `${first.charAt(0).toUpperCase()}${first.slice(1)}`
  return [/[.?!]$/.test(sentence) ? sentence : `${sentence}.`, ...rest].join(' ')
}

function hintOf(error: unknown): string | null {
  if (error instanceof CliError) return error.hint
  if (error instanceof CommanderError) return 'See: signalbox --help'
  if (error instanceof APIConnectionError) return connectionHint(error)
  return error instanceof APIError ? (HINTS[error.status] ?? redirectHint(error)) : null
}

const HINTS: Record<number, string> = {
  401: 'The token is missing, mistyped or revoked. See: signalbox auth status',
  403: 'This token may not do that.',
}

function redirectHint({ status }: APIError): string | null {
  return status >= 300 && status < 400 ? 'Use the address that the redirect names.' : null
}

const CONNECTION_HINTS: Record<string, string> = {
  ECONNREFUSED: 'Nothing listens at the base URL. Is the service running? See: signalbox doctor',
  ENOTFOUND: 'The host of the base URL is not known. See: signalbox doctor',
  CERT_HAS_EXPIRED: 'The certificate of the service has expired.',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'Trust its certificate: NODE_EXTRA_CA_CERTS=/path/ca.pem',
  SELF_SIGNED_CERT_IN_CHAIN: 'Trust its certificate: NODE_EXTRA_CA_CERTS=/path/ca.pem',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'Trust its certificate: NODE_EXTRA_CA_CERTS=/path/ca.pem',
}

/** The code of the cause says what is wrong with the connection. */
export function connectionHint(error: unknown): string {
  for (let cause: unknown = error; cause instanceof Error; cause = cause.cause) {
    const { code } = cause as { code?: unknown }
    const hint = typeof code === 'string' ? CONNECTION_HINTS[code] : undefined
    if (hint !== undefined) return hint
  }
  return 'See: signalbox doctor'
}
