import { createHmac, hash, randomBytes, timingSafeEqual } from 'node:crypto'
import { createRateLimitRefusal, type RateLimit } from '../../runtime/http/rate-limit.ts'
import { DAY_SECONDS } from '../../runtime/util/time.ts'
import type { SessionContext } from './session-store.ts'
import { readCookie, serializeCookie } from './session-token.ts'
import { findPasswordHashByEmail } from './user-store.ts'

/** The limits of one account, user, workspace or address, from any client. Null: no limit. */
export interface AttemptLimits {
  signInUser: RateLimit | null
  userEmails: RateLimit | null
  invitationsOfUser: RateLimit | null
  invitationsOfWorkspace: RateLimit | null
  invitationsToAddress: RateLimit | null
}

/** What an attempt is for. Each purpose counts apart, so that using up one leaves the others. */
const PURPOSES = {
  sign_in: 'signInUser',
  /** The password that an emailed link asks for. */
  verification: 'signInUser',
  sign_up: 'userEmails',
  verification_link: 'userEmails',
  reset_link: 'userEmails',
  sign_in_link: 'userEmails',
} as const satisfies Record<string, keyof AttemptLimits>

interface Attempt {
  purpose: keyof typeof PURPOSES
  email: string
  /** The Cookie header, which tells a known device. */
  cookie: string | undefined
}

type LimitContext = DeviceContext & { limits: AttemptLimits }

/**
 * Counts one attempt on an account. Unknown accounts count too, so the limit does not reveal which
 * accounts exist. All unknown devices share one count: it stops guesses from many addresses, and an
 * attacker can use it up. A known device has a count of its own. Throws a 429.
 */
export async function limitAttempts(context: LimitContext, attempt: Attempt): Promise<void> {
  const limit = context.limits[PURPOSES[attempt.purpose]]
  if (!limit) return
  const device = await findKnownDevice(context, attempt)
  takeAttempt(limit, [attempt.purpose, attempt.email, device])
}

/** Counts one password change by its session, because only the user has it. Throws a 429. */
export function limitPasswordChanges({ limits }: LimitContext, sessionId: number): void {
  if (limits.signInUser) takeAttempt(limits.signInUser, ['password_change', sessionId])
}

/** Counts one confirmation of a signed-in user's identity. Throws a 429. */
export function limitConfirmations({ limits }: LimitContext, userId: number): void {
  if (limits.signInUser) takeAttempt(limits.signInUser, ['confirmation', userId])
}

interface InvitationAttempt {
  userId: number
  workspaceId: number
  email: string
}

/**
 * Counts one invitation by its inviter, its workspace and its recipient: anyone can sign up, and an
 * invitation is an email with a text of their choice to any address. One that is refused counts
 * nowhere. Throws a 429.
 */
export function limitInvitations({ limits }: LimitContext, attempt: InvitationAttempt): void {
  const counted = [
    [limits.invitationsOfUser, [attempt.userId]],
    [limits.invitationsOfWorkspace, [attempt.workspaceId]],
    [limits.invitationsToAddress, [attempt.email]],
  ] as const
  for (const [limit, key] of counted) {
    const { waitSeconds } = limit?.limiter.peek(toLimitKey(key)) ?? { waitSeconds: 0 }
    if (limit && waitSeconds > 0) throw createRateLimitRefusal(limit, waitSeconds)
  }
  for (const [limit, key] of counted) if (limit) takeAttempt(limit, key)
}

function takeAttempt(limit: RateLimit, key: readonly unknown[]): void {
  const { waitSeconds } = limit.limiter.take(toLimitKey(key))
  if (waitSeconds > 0) throw createRateLimitRefusal(limit, waitSeconds)
}

/** Only a digest of an address stays in memory. */
function toLimitKey(parts: readonly unknown[]): string {
  return hash('sha256', JSON.stringify(parts), 'base64')
}

export interface DeviceContext extends SessionContext {
  /** Signs device cookies. 32 bytes. */
  deviceKey: Buffer
}

/** The browser of a request, and the address that it wants to use. */
interface DeviceRequest {
  /** The Cookie header. */
  cookie: string | undefined
  email: string
}

const COOKIE = 'signalbox_device'
const COOKIE_SECONDS = 180 * DAY_SECONDS

/** One browser may sign in to this many accounts; beyond it, the oldest one is forgotten. */
const ACCOUNTS_MAX = 5

const NONCE_BYTES = 16
/** A random number of this browser and account, and its signature, both in base64url. */
const ENTRY = /^([A-Za-z0-9_-]{22})\.([A-Za-z0-9_-]{43})$/

/**
 * Returns the ID of a browser in which the account was signed in to before; null for any other.
 * Attempts of a known device count apart from those of all others, so that an attacker who uses up
 * the attempts of an account does not lock out its owner (OWASP, "Slow Down Online Guessing Attacks
 * with Device Cookies"). The cookie opens nothing.
 */
async function findKnownDevice(
  context: DeviceContext,
  request: DeviceRequest,
): Promise<string | null> {
  const entries = readEntries(context, request.cookie)
  if (entries.length === 0) return null
  const sign = await createSigner(context, request.email)
  const known = entries.find(({ nonce, signature }) => isSameText(sign(nonce), signature))
  return known?.nonce ?? null
}

/** `Set-Cookie` that makes the browser of a sign-in a known device of the account. */
export async function knownDeviceCookie(
  context: DeviceContext,
  request: DeviceRequest,
): Promise<string> {
  const known = await findKnownDevice(context, request)
  const nonce = known ?? randomBytes(NONCE_BYTES).toString('base64url')
  const sign = await createSigner(context, request.email)
  const others = readEntries(context, request.cookie).filter(entry => entry.nonce !== nonce)
  const entries = [{ nonce, signature: sign(nonce) }, ...others].slice(0, ACCOUNTS_MAX)
  const value = entries.map(entry => `${entry.nonce}.${entry.signature}`).join('~')
  return serializeCookie(context.publicOrigin(), {
    name: COOKIE,
    value,
    secondsMax: COOKIE_SECONDS,
  })
}

interface Entry {
  nonce: string
  signature: string
}

function readEntries({ publicOrigin }: DeviceContext, header: string | undefined): Entry[] {
  const value = readCookie(header, publicOrigin(), COOKIE) ?? ''
  return value
    .split('~', ACCOUNTS_MAX)
    .map(text => ENTRY.exec(text))
    .filter(found => found !== null)
    .map(([, nonce = '', signature = '']) => ({ nonce, signature }))
}

/**
 * The signature covers the hash of the password: a thief who knew an earlier password may have made
 * many devices known, and each would have attempts of its own.
 */
async function createSigner({ database, deviceKey }: DeviceContext, email: string) {
  const passwordHash = await findPasswordHashByEmail(database, email)
  return (nonce: string) =>
    createHmac('sha256', deviceKey)
      .update(JSON.stringify([nonce, email, passwordHash]))
      .digest('base64url')
}

function isSameText(one: string, other: string): boolean {
  return one.length === other.length && timingSafeEqual(Buffer.from(one), Buffer.from(other))
}
