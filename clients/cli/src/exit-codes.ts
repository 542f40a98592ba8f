import {
  APIConnectionError,
  APIError,
  AuthenticationError,
  InternalServerError,
  InvalidArgumentError,
  InvalidResponseError,
  NotFoundError,
  PermissionDeniedError,
  RateLimitError,
  RedirectError,
} from '@signalbox/sdk'
import { CommanderError } from 'commander'

/** How a command ended, as a script sees it. README.md and the help list them. */
export const EXIT_CODES = {
  success: 0,
  failure: 1,
  usage: 2,
  authentication: 4,
  notFound: 5,
  refused: 6,
  tryLater: 7,
  interrupted: 130,
} as const

export type ExitCode = (typeof EXIT_CODES)[keyof typeof EXIT_CODES]

/** An expected failure of the program itself, in one sentence. */
export class CliError extends Error {
  override name = 'CliError'
  readonly exitCode: ExitCode
  /** What to do about it. */
  readonly hint: string | null

  constructor(kind: keyof typeof EXIT_CODES, message: string, hint: string | null = null) {
    super(message)
    this.exitCode = EXIT_CODES[kind]
    this.hint = hint
  }
}

/** The command line is wrong: exit code 2. */
export function createUsageError(message: string, hint: string | null = null): CliError {
  return new CliError('usage', message, hint)
}

export function exitCodeOf(error: unknown): ExitCode {
  if (error instanceof CliError) return error.exitCode
  if (error instanceof CommanderError) return EXIT_CODES.usage
  if (error instanceof InvalidArgumentError) return EXIT_CODES.usage
  if (error instanceof AuthenticationError || error instanceof PermissionDeniedError) {
    return EXIT_CODES.authentication
  }
  if (error instanceof NotFoundError) return EXIT_CODES.notFound
  if (isTemporary(error)) return EXIT_CODES.tryLater
  if (error instanceof RedirectError || error instanceof InvalidResponseError) {
    return EXIT_CODES.failure
  }
  return error instanceof APIError ? EXIT_CODES.refused : EXIT_CODES.failure
}

const REQUEST_TIMEOUT = 408

/** Whether the same request may succeed later. */
function isTemporary(error: unknown): boolean {
  return (
    error instanceof APIConnectionError ||
    error instanceof RateLimitError ||
    error instanceof InternalServerError ||
    (error instanceof APIError && error.status === REQUEST_TIMEOUT)
  )
}
