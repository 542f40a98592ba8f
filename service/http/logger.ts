import { type DestinationStream, pino } from 'pino'
import type { ServiceLogger } from './service-app.ts'

/** What must never be read in a log, wherever it stands in an object. */
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

/** JSON lines on standard output, one object a line, without secrets and without identity. */
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

/** A database error repeats row values in `detail`; only what says where it broke is kept. */
function serializeError(error: unknown): unknown {
  if (!(error instanceof Error)) return { message: String(error) }
  const { name, message, stack, cause } = error
  const { code, constraint, table } = error as Error & Record<string, unknown>
  const { cause: _, ...view } = {
    name,
    message,
    code,
    constraint,
    table,
    stack,
    cause: undefined,
  }
  return cause instanceof Error ? { ...view, cause: serializeError(cause) } : view
}
