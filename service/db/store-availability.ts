/** Node's codes for a server that cannot be reached. */
const SYSTEM_CODES = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'ENOTFOUND',
  'EHOSTUNREACH',
])

/**
 * PostgreSQL error classes that pass by themselves: 08 connection, 53 insufficient resources
 * (disk full, too many connections), 57P admin shutdown and crash recovery, 58 system error.
 */
const SQLSTATE_PREFIXES = ['08', '53', '57P', '58']

/** Is the store out of reach for now, as opposed to a statement that is wrong? */
export function isStoreUnavailable(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const code = (error as { code?: unknown }).code
  if (typeof code === 'string') {
    if (SYSTEM_CODES.has(code)) return true
    if (/^[0-9A-Z]{5}$/.test(code)) {
      return SQLSTATE_PREFIXES.some(prefix => code.startsWith(prefix))
    }
  }
  // pg gives these two no code.
  return /timeout exceeded when trying to connect|Connection terminated/.test(error.message)
}
