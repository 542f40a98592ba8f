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
 * Transient PostgreSQL errors: class 08 connection, 53 insufficient resources (disk full, too many
 * connections), 55P03 lock timeout, 57P admin shutdown and crash recovery, 57014 statement timeout,
 * 58 system error, 25006 a standby that is not promoted yet, 26000 and 42P05 a pooler that loses
 * prepared statements.
 */
const UNAVAILABLE_PREFIXES = ['26000', '42P05', '08', '53', '55P03', '57P', '57014', '58', '25006']

/** The message of the internal error that Citus raises when a connected node goes away. */
const CITUS_NODE_LOST = /^failure on connection marked as essential/

/** And for a statement that was planned before its shard was divided, and waited for that. */
const CITUS_SHARD_DIVIDED =
  /^(could not find valid entry for shard|shard for the given value does not exist)/

/** Messages of connection errors to which the driver gives no code. */
const DRIVER_MESSAGES =
  /timeout exceeded when trying to connect|Connection terminated|is not queryable|read timeout/

/**
 * A caller does not wait for the store any longer. What it asked for may still be done, so nothing
 * may be acknowledged or refused for good.
 */
export class StoreTimeout extends Error {
  override name = 'StoreTimeout'
}

/** True when the store is unavailable for now, as opposed to a statement that is wrong. */
export function isStoreUnavailable(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  if (error instanceof StoreTimeout) return true
  const { code } = error as { code?: unknown }
  if (typeof code === 'string') {
    if (SYSTEM_CODES.has(code)) return true
    if (/^[0-9A-Z]{5}$/.test(code)) {
      if (CITUS_NODE_LOST.test(error.message) || isShardDivided(error)) return true
      return UNAVAILABLE_PREFIXES.some(prefix => code.startsWith(prefix))
    }
  }
  return DRIVER_MESSAGES.test(error.message)
}

/** The server took the connection or the packets, but did not answer in time. */
export function isConnectTimeout(error: unknown): boolean {
  return error instanceof Error && CONNECT_TIMEOUTS.test(error.message)
}

const CONNECT_TIMEOUTS = /^(timeout exceeded when trying to connect|.+due to connection timeout)$/

/** Why the store is unavailable, as `/readyz` and the log name it. */
export type StoreFailureCause =
  | 'unreachable'
  | 'shutting_down'
  | 'read_only'
  | 'disk_full'
  | 'out_of_memory'
  | 'too_many_connections'
  | 'resource_limit'
  | 'lock_timeout'
  | 'timeout'
  | 'io_error'
  | 'pooler'

/** By SQLSTATE, the longest prefix first. */
const CAUSES_BY_PREFIX: readonly [prefix: string, cause: StoreFailureCause][] = [
  ['53100', 'disk_full'],
  ['53200', 'out_of_memory'],
  ['53300', 'too_many_connections'],
  ['55P03', 'lock_timeout'],
  ['57014', 'timeout'],
  ['25006', 'read_only'],
  ['26000', 'pooler'],
  ['42P05', 'pooler'],
  ['53', 'resource_limit'],
  ['57P', 'shutting_down'],
  ['58', 'io_error'],
]

/** Why the store is unavailable; null for an error that is not about its availability. */
export function findStoreFailureCause(error: unknown): StoreFailureCause | null {
  if (!isStoreUnavailable(error)) return null
  if (error instanceof StoreTimeout) return 'timeout'
  const code = String(errorCode(error))
  return CAUSES_BY_PREFIX.find(([prefix]) => code.startsWith(prefix))?.[1] ?? 'unreachable'
}

/** The SQLSTATE of an error, Node's code of a system error, or undefined. */
function errorCode(error: unknown): unknown {
  return (error as { code?: unknown }).code
}

/** A statement waited for a lock longer than `lock_timeout`. */
export function isLockTimeout(error: unknown): boolean {
  return errorCode(error) === '55P03'
}

/** PostgreSQL rolled the transaction back in favor of another one; it may be retried. */
export function isRollback(error: unknown): boolean {
  const code = errorCode(error)
  return code === SERIALIZATION_FAILURE || code === DEADLOCK_DETECTED
}

const SERIALIZATION_FAILURE = '40001'
const DEADLOCK_DETECTED = '40P01'

/** Citus divided the shard of a statement after it was planned; it may be repeated at once. */
export function isShardDivided(error: unknown): boolean {
  return error instanceof Error && CITUS_SHARD_DIVIDED.test(error.message)
}

export function isUniqueViolation(error: unknown): boolean {
  return errorCode(error) === '23505'
}

export function isInsufficientPrivilege(error: unknown): boolean {
  return errorCode(error) === '42501'
}

/** The time of an event is finer than milliseconds, so that it cannot be looked up. */
export class UnreadableTimeError extends Error {
  override name = 'UnreadableTimeError'
}
