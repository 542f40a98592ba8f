import type { Database } from '../db/database.ts'
import { everyDestination, rewriteSealedCredential } from './credential-store.ts'
import { type Destination, findDestination } from './destination-store.ts'
import { type CredentialKeys, openCredential, sealCredential } from './sealed-credential.ts'

export interface Resealing {
  alreadyCurrent: number
  resealed: number
  /** Ids of the destinations whose credential none of the keys opens. */
  unreadable: string[]
}

/** A credential that is set at the same moment is looked at again; nobody sets one so often. */
const TRIES_MAX = 5

/**
 * Brings every credential under the current key, so that the previous ones may be forgotten. May
 * run beside the service, more than once and after an interruption.
 */
export async function resealCredentials(
  database: Database,
  keys: CredentialKeys,
): Promise<Resealing> {
  const resealing: Resealing = { alreadyCurrent: 0, resealed: 0, unreadable: [] }
  for await (const destination of everyDestination(database)) {
    switch (await reseal(database, keys, destination)) {
      case 'current':
        resealing.alreadyCurrent += 1
        break
      case 'resealed':
        resealing.resealed += 1
        break
      case 'unreadable':
        resealing.unreadable.push(destination.id)
        break
      case 'gone':
    }
  }
  return resealing
}

type Fate = 'current' | 'resealed' | 'unreadable' | 'gone'

async function reseal(database: Database, keys: CredentialKeys, found: Destination): Promise<Fate> {
  const { trackerId, id } = found
  let destination: Destination | null = found
  for (let tries = 0; tries < TRIES_MAX; tries += 1) {
    if (!destination) return 'gone'
    const opened = openCredential(keys, id, destination.sealedCredential)
    if (!opened) return 'unreadable'
    if (opened.key === 'current') return 'current'
    const resealed = sealCredential(keys, id, opened.credential)
    if (await rewriteSealedCredential(database, destination, resealed)) return 'resealed'
    destination = await findDestination(database, trackerId, id)
  }
  throw new Error(`the credential of destination ${id} is being set again and again`)
}
