/** Node's codes for a server that cannot be reached. */
const SYSTEM_CODES = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
])

/**
 * PostgreSQL errors that pass by themselves: class 08 connection, 53 insufficient resources (disk
 * full, too many connections), 57P admin shutdown and crash recovery, 57014 a statement that took
 * too long, 58 system error, 25006 a standby that has not been promoted yet.
 */
const SQLSTATE_PREFIXES = ['08', '53', '57P', '57014', '58', '25006']

/** What Citus says, as an internal error, when a node went away that it had a connection to. */
const CITUS_SENTENCE = /^failure on connection marked as essential/

/** What the driver says about a connection without giving it a code. */
const DRIVER_SENTENCES =
  /timeout exceeded when trying to connect|Connection terminated|is not queryable|read timeout/

/** Is the store out of reach for now, as opposed to a statement that is wrong? */
export function isStoreUnavailable(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const code = (error as { code?: unknown }).code
  if (typeof code === 'string') {
    if (SYSTEM_CODES.has(code)) return true
    if (/^[0-9A-Z]{5}$/.test(code)) {
      if (CITUS_SENTENCE.test(error.message)) return true
      return SQLSTATE_PREFIXES.some(prefix => code.startsWith(prefix))
    }
  }
  return DRIVER_SENTENCES.test(error.message)
}
