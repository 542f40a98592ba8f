import { openCredential } from '../../runtime/util/sealed-credential.ts'
import { DAY_MILLISECONDS, MINUTE_SECONDS } from '../../runtime/util/time.ts'
import type { DeliveryContext } from '../delivery/delivery-context.ts'
import { findDestination } from '../delivery/destination-store.ts'
import {
  claimErasureMessages,
  type ErasureMessage,
  settleErasureMessage,
} from './erasure-message-store.ts'

/** The first attempt comes when no request with events of the person is in flight any more. */
export const ERASURE_DELAY_MINUTES = 10
/** Delays after the first attempts; the last one repeats. */
const RETRY_MINUTES = [5, 15, 60, 240, 720]
const CLAIM_MINUTES = 10
const KEPT_DAYS = 7
const MESSAGES_MAX = 100

export function addMinutes(at: Date, minutes: number): Date {
  return new Date(at.getTime() + minutes * MINUTE_SECONDS * 1_000)
}

/**
 * Tells destinations of erased people. Safe to repeat and to interrupt. The digest is forgotten
 * when the platform has taken the message, and after a week of failures.
 */
export async function sendErasures(
  context: DeliveryContext,
  { now, signal }: { now: Date; signal?: AbortSignal },
): Promise<{ sent: number; waiting: number; givenUp: number; more: boolean }> {
  const until = addMinutes(now, CLAIM_MINUTES)
  const due = await claimErasureMessages(context.database, { at: now, until, limit: MESSAGES_MAX })
  const counts = { sent: 0, waiting: 0, givenUp: 0, more: due.length === MESSAGES_MAX }
  for (const message of due) {
    if (signal?.aborted) return { ...counts, more: true }
    const result = await sendErasure(context, message, now)
    counts[result] += 1
    const nextAttemptAt = result === 'waiting' ? nextAttempt(message, now) : null
    await settleErasureMessage(context.database, message, nextAttemptAt)
  }
  return counts
}

function nextAttempt({ attempts }: ErasureMessage, now: Date): Date {
  const index = Math.min(attempts, RETRY_MINUTES.length) - 1
  return addMinutes(now, RETRY_MINUTES[index] ?? 0)
}

/** A paused destination is tried, too: it may have got events before. */
async function sendErasure(
  { database, platforms, credentialKeys }: DeliveryContext,
  { trackerId, destinationId, id, digest, erasedAt }: ErasureMessage,
  now: Date,
): Promise<'sent' | 'waiting' | 'givenUp'> {
  const destination = await findDestination(database, trackerId, destinationId)
  if (destination === null) return 'givenUp'
  const later = now.getTime() - erasedAt.getTime() < KEPT_DAYS * DAY_MILLISECONDS
  const failed = later ? 'waiting' : 'givenUp'
  const platform = platforms.find(destination.platform)
  const target = platform?.parseTarget(destination.config) ?? null
  const opened = openCredential(credentialKeys, destinationId, destination.sealedCredential)
  if (!platform?.sendErasure || target === null || !opened) return failed
  const credentials = { target, accessToken: opened.credential }
  const { outcome } = await platform.sendErasure(credentials, { id, digest, erasedAt })
  return outcome === 'accepted' ? 'sent' : failed
}
