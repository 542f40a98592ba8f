import type { Database } from '../../runtime/db/database.ts'
import type { AddressedRequest } from '../../runtime/http/client-address.ts'
import { RateLimiter } from '../../runtime/http/rate-limit.ts'
import type { ServiceLogger } from '../../runtime/http/service-app.ts'
import { HOUR_SECONDS } from '../../runtime/util/time.ts'
import { insertSecurityEvent } from './security-event-store.ts'
import { parseEmailAddress } from './user-input.ts'
import { findUserByEmail } from './user-store.ts'

/**
 * What happens to the accounts of people. Changes of members, roles and ad accounts are in the
 * audit log of their workspace instead, which never expires.
 */
const SECURITY_EVENT_TYPES = [
  'sign_in.succeeded',
  'sign_in.failed',
  'sign_in.limited',
  'sign_out',
  'sign_up.requested',
  'email_link.requested',
  'password.changed',
  'password.change_failed',
  'password.reset',
  'session.ended',
  'second_factor.failed',
  'second_factor.added',
  'second_factor.removed',
  'recovery_codes.replaced',
  'provider.linked',
] as const
export type SecurityEventType = (typeof SECURITY_EVENT_TYPES)[number]

/** Anyone can cause these without an account, so only a limited number is kept. */
const ANONYMOUS_TYPES: ReadonlySet<SecurityEventType> = new Set([
  'sign_in.failed',
  'sign_in.limited',
  'sign_up.requested',
  'email_link.requested',
])

export type SignInMethod =
  | 'password'
  | 'second_factor'
  | 'passkey'
  | 'email_link'
  | 'verification'
  | 'google'
  | 'github'
  | 'oidc'

/** The parts of a request that an event names. */
export interface EventRequest extends AddressedRequest {
  id: string
}

interface SecurityEvent {
  type: SecurityEventType
  /** The user, or the address that a visitor entered, whether or not it has an account. */
  user: { userId: number } | { email: string } | null
  /** Null when the event has no request. */
  request: EventRequest | null
  /** Codes only: no address, name or token. */
  details?: Record<string, string>
}

/** Records an event. Never fails the request that it is about. */
export type RecordSecurityEvent = (event: SecurityEvent) => Promise<void>

interface SecurityEventOptions {
  database: Database
  logger: ServiceLogger
  now: () => Date
  addressOf: (request: AddressedRequest) => string
}

/** Kept per hour and client address, and per hour from all addresses together; per process. */
const KEPT_PER_ADDRESS = 100
const KEPT_IN_ALL = 20_000
const ADDRESSES_MAX = 10_000

/**
 * Stores security events and writes a line for each to the program's log. The line names no client
 * address, as no line does; the stored event does, until it expires.
 */
export function createSecurityEventRecorder(options: SecurityEventOptions): RecordSecurityEvent {
  const { database, logger, now, addressOf } = options
  const isKept = createFloodGuard(now)
  return async ({ type, user, request, details = {} }) => {
    const clientAddress = request && addressOf(request)
    if (ANONYMOUS_TYPES.has(type) && !isKept(clientAddress ?? '')) return
    const requestId = request?.id ?? null
    try {
      const userId = await findUserId(database, user)
      const at = now()
      await insertSecurityEvent(database, { at, type, userId, clientAddress, requestId, details })
      const line = { event: type, user_id: userId, request_id: requestId, details }
      logger.info(line, 'security event')
    } catch (err) {
      logger.warn({ err, event: type, request_id: requestId }, 'a security event was not stored')
    }
  }
}

/**
 * Bounds what strangers can write: the first hundred attempts of an address show an attack as well
 * as a million do, and each refused request still has its line in the log.
 */
function createFloodGuard(now: () => Date): (address: string) => boolean {
  const monotonicSeconds = () => now().getTime() / 1_000
  const limit = (perHour: number, keysMax: number) =>
    new RateLimiter({
      perSecond: perHour / HOUR_SECONDS,
      burst: perHour,
      keysMax,
      monotonicSeconds,
    })
  const byAddress = limit(KEPT_PER_ADDRESS, ADDRESSES_MAX)
  const inAll = limit(KEPT_IN_ALL, 1)
  return address => byAddress.take(address).waitSeconds === 0 && inAll.take('all').waitSeconds === 0
}

async function findUserId(database: Database, user: SecurityEvent['user']): Promise<number | null> {
  if (user === null) return null
  if ('userId' in user) return user.userId
  const email = parseEmailAddress(user.email)
  return (email !== null && (await findUserByEmail(database, email))?.userId) || null
}
