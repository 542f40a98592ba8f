import type { AlertSubject } from './alert.ts'
import { closeAlert } from './alert-store.ts'
import type { AlertContext } from './raise-alert.ts'

/** What an alert was about is fine again. False when none of the kind was open. */
export async function resolveAlert(
  { database, onAlert }: AlertContext,
  { trackerId, destinationId, kind }: AlertSubject,
  at: Date,
): Promise<boolean> {
  const sentence = await closeAlert(database, { trackerId, destinationId, kind }, at)
  if (sentence === null) return false
  onAlert?.({ trackerId, destinationId, kind, move: 'resolved', sentence })
  return true
}
