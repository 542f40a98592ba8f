import { sql } from 'kysely'
import type { Database } from '../db/database.ts'
import { type Destination, destinationOf } from './destination-store.ts'

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

export interface NewCredential {
  trackerId: string
  destinationId: string
  sealedCredential: Buffer
  /** Null keeps the one that it has. */
  datasetId: string | null
  at: Date
}

/** A new credential is presumed to work: what paused the destination was about the old one. */
export async function replaceCredential(
  { query }: Database,
  { trackerId, destinationId, sealedCredential, datasetId, at }: NewCredential,
): Promise<boolean> {
  const config = datasetId === null ? {} : { dataset_id: datasetId }
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
export async function rewriteSealedCredential(
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
