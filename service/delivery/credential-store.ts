import { sql } from 'kysely'
import type { Database } from '../db/database.ts'
import type { TargetConfig } from '../platforms/platform.ts'
import { announceDeliveries } from './destination-queue-store.ts'
import { type Destination, destinationOf, findDestination } from './destination-store.ts'
import { type CredentialKeys, openCredential, sealCredential } from './sealed-credential.ts'

interface CredentialChange {
  trackerId: string
  destinationId: string
  accessToken: string
  /** What changes of where it sends; nothing when empty. */
  config: TargetConfig
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

interface ResealSummary {
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
): Promise<ResealSummary> {
  const resealing: ResealSummary = { alreadyCurrent: 0, resealed: 0, unreadable: [] }
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

type ResealOutcome = 'current' | 'resealed' | 'unreadable' | 'gone'

async function reseal(
  database: Database,
  keys: CredentialKeys,
  found: Destination,
): Promise<ResealOutcome> {
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

const PAGE_ROWS_MAX = 500

/** Every destination of every tracker, by tracker, read a page at a time. */
export async function* everyDestination({ query }: Database): AsyncGenerator<Destination> {
  for (let last: Destination | null = null; ; ) {
    let page = query
      .selectFrom('destinations')
      .selectAll()
      .orderBy('tracker_id')
      .orderBy('id')
      .limit(PAGE_ROWS_MAX)
    if (last) {
      const { trackerId, id } = last
      page = page.where(sql<boolean>`(tracker_id, id) > (${trackerId}::uuid, ${id}::uuid)`)
    }
    const destinations: Destination[] = (await page.execute()).map(destinationOf)
    yield* destinations
    last = destinations.at(-1) ?? null
    if (destinations.length < PAGE_ROWS_MAX) return
  }
}

/** The destinations of this id, of one tracker or of any: mostly one, and two at most. */
export async function findDestinationsOfId(
  { query }: Database,
  { id, trackerId }: { id: string; trackerId: string | null },
): Promise<Destination[]> {
  const named = query.selectFrom('destinations').selectAll().where('id', '=', id).limit(2)
  const asked = trackerId === null ? named : named.where('tracker_id', '=', trackerId)
  return (await asked.execute()).map(destinationOf)
}

interface NewCredential {
  trackerId: string
  destinationId: string
  sealedCredential: Buffer
  config: TargetConfig
  at: Date
}

/** A new credential is presumed to work: what paused the destination was about the old one. */
async function replaceCredential(
  { query }: Database,
  { trackerId, destinationId, sealedCredential, config, at }: NewCredential,
): Promise<boolean> {
  const changed = await query
    .updateTable('destinations')
    .set({
      sealed_credential: sealedCredential,
      config: sql`config || ${JSON.stringify(config)}::jsonb`,
      status: 'active',
      status_reason: null,
      next_probe_at: null,
      failed_probes: 0,
      updated_at: at,
    })
    .where('tracker_id', '=', trackerId)
    .where('id', '=', destinationId)
    .returning('id')
    .executeTakeFirst()
  return changed !== undefined
}

/**
 * The same credential in other bytes, so nothing else of the destination changes. False when it has
 * another one than `read` by now, which is not to be overwritten.
 */
async function rewriteSealedCredential(
  { query }: Database,
  { trackerId, id, sealedCredential: read }: Destination,
  resealed: Buffer,
): Promise<boolean> {
  const changed = await query
    .updateTable('destinations')
    .set({ sealed_credential: resealed })
    .where('tracker_id', '=', trackerId)
    .where('id', '=', id)
    .where('sealed_credential', '=', read)
    .returning('id')
    .executeTakeFirst()
  return changed !== undefined
}
