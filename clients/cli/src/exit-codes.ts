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
import { CliError, EXIT_CODES, type ExitCode } from './cli-error.ts'

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
