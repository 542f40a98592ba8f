import { isatty } from 'node:tty'
import { type DestinationStream, destination, pino, stdTimeFunctions } from 'pino'
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
    timestamp: stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
    redact: { paths: REDACTED, censor: '[redacted]' },
    serializers: { err: serializeError },
  }
  return stream ? pino(options, stream) : pino(options)
}

/** What `LOG_FORMAT` allows; left out, it depends on the terminal. */
export type LogFormat = 'json' | 'pretty'

const STANDARD_OUTPUT = 1

/**
 * Standard output, written synchronously in this thread. `pretty` makes readable lines; it is the
 * default on a terminal, and JSON is the default elsewhere.
 */
export async function openLogStream(
  format: LogFormat | undefined,
  { isTerminal = isatty(STANDARD_OUTPUT), output = openStandardOutput() } = {},
): Promise<DestinationStream> {
  if ((format ?? (isTerminal ? 'pretty' : 'json')) === 'json') return output
  // Loading it takes 25 ms of processor time, and only terminals need it.
  const { prettyFactory } = await import('pino-pretty')
  const formatLine = prettyFactory({
    colorize: isTerminal,
    translateTime: 'SYS:HH:MM:ss',
    singleLine: true,
  })
  return { write: line => output.write(formatLine(line)) }
}

function openStandardOutput(): DestinationStream {
  return destination({ fd: STANDARD_OUTPUT, sync: true })
}

/** Keeps only what locates an error: a database error repeats row values in `detail`. */
function serializeError(error: unknown): unknown {
  if (!(error instanceof Error)) return { message: String(error) }
  const { name, message, stack, cause } = error
  const { code, constraint, table } = error as Error & Record<string, unknown>
  const view = { name, message, code, constraint, table, stack }
  return cause instanceof Error ? { ...view, cause: serializeError(cause) } : view
}
