import { type DestinationStream, pino } from 'pino'
import type { ServiceLogger } from './service-app.ts'

/** Paths that must never appear in a log. */
const REDACTED = [
  'authorization',
  '*.authorization',
  '*.headers.authorization',
  'cookie',
  '*.cookie',
  'user_data',
  '*.user_data',
  'body',
  '*.body',
  'connectionString',
  '*.connectionString',
]

/** Logs one JSON object per line to standard output, without secrets and personal data. */
export function createLogger(level: string, stream?: DestinationStream): ServiceLogger {
  const options = {
    level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
    redact: { paths: REDACTED, censor: '[redacted]' },
    serializers: { err: serializeError },
  }
  return stream ? pino(options, stream) : pino(options)
}

/** Keeps only what locates an error: a database error repeats row values in `detail`. */
function serializeError(error: unknown): unknown {
  if (!(error instanceof Error)) return { message: String(error) }
  const { name, message, stack, cause } = error
  const { code, constraint, table } = error as Error & Record<string, unknown>
  const view = { name, message, code, constraint, table, stack }
  return cause instanceof Error ? { ...view, cause: serializeError(cause) } : view
}
