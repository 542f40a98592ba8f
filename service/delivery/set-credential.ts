import type { Database } from '../db/database.ts'
import { replaceCredential } from './credential-store.ts'
import { type CredentialKeys, sealCredential } from './sealed-credential.ts'
import { announceDeliveries } from './store.ts'

export interface CredentialChange {
  trackerId: string
  destinationId: string
  accessToken: string
  /** Null keeps the dataset that it has. */
  datasetId: string | null
  at: Date
}

/**
 * Gives a destination another credential. Whatever paused it was about the old one: it is active,
 * and the workers are woken to send what waits. False when there is no such destination.
 */
export async function setCredential(
  database: Database,
  keys: CredentialKeys,
  { accessToken, ...change }: CredentialChange,
): Promise<boolean> {
  const sealedCredential = sealCredential(keys, change.destinationId, accessToken)
  const isSet = await replaceCredential(database, { ...change, sealedCredential })
  if (isSet) await announceDeliveries(database)
  return isSet
}
