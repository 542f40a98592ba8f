import { hash } from 'node:crypto'
import { createRateLimitRefusal, type RateLimit } from '../../runtime/http/rate-limit.ts'
import { type DeviceContext, findKnownDevice } from './known-device.ts'

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
