import { sql } from 'kysely'
import type { AuditActor } from '../../audit/audit-entry.ts'
import { type AuditedContext, commitAudited } from '../../audit/audit-store.ts'
import type { Database, Transaction } from '../../runtime/db/database.ts'
import {
  type CredentialKeys,
  openCredential,
  sealCredential,
} from '../../runtime/util/sealed-credential.ts'
import type { TargetConfig } from '../platforms/platform.ts'
import { announceDeliveries } from './destination-queue-store.ts'
import { type Destination, destinationOf, findDestination } from './destination-store.ts'

interface CredentialChange {
  workspaceId: number
  trackerId: string
  destinationId: string
  accessToken: string
  /** Who sets it, for the audit log. */
  actor: AuditActor
  /** The members of `config` to change; empty changes nothing. */
  config: TargetConfig
  at: Date
}

/**
 * Replaces the credential of a destination and activates it, since it was paused because of the old
 * credential; one that a person paused stays paused. Wakes the workers to send what waits. False
 * when the destination does not exist. The entry in the log of the workspace names the destination
 * and the changed members of its target.
 */
export async function setCredential(
  context: AuditedContext,
  keys: CredentialKeys,
  { workspaceId, accessToken, actor, ...change }: CredentialChange,
): Promise<boolean> {
  const { destinationId, config, at } = change
  const sealedCredential = sealCredential(keys, destinationId, accessToken)
  const isSet = await commitAudited(context, async (transaction, record) => {
    if (!(await replaceCredential(transaction, { ...change, sealedCredential }))) return false
    record({
      workspaceId,
      at,
      actor,
      action: 'credential.changed',
      subject: { type: 'destination', id: destinationId },
      details: { changed_members: Object.keys(config).sort() },
    })
    return true
  })
  if (isSet) await announceDeliveries(context.database, destinationId)
  return isSet
}

interface ResealSummary {
  alreadyCurrent: number
  resealed: number
  /** Ids of the destinations whose credential no key opens. */
  unreadable: string[]
}

/** A credential that is replaced concurrently is read again, at most this often. */
const TRIES_MAX = 5

/**
 * Seals every credential with the current key, so that the previous keys can be removed. Safe to
 * run beside the service, repeatedly and after an interruption.
 */
export async function resealCredentials(
  database: Database,
  keys: CredentialKeys,
): Promise<ResealSummary> {
  const summary: ResealSummary = { alreadyCurrent: 0, resealed: 0, unreadable: [] }
  for await (const destination of everyDestination(database)) {
    switch (await reseal(database, keys, destination)) {
      case 'current':
        summary.alreadyCurrent += 1
        break
      case 'resealed':
        summary.resealed += 1
        break
      case 'unreadable':
        summary.unreadable.push(destination.id)
        break
      case 'deleted':
    }
  }
  return summary
}

type ResealOutcome = 'current' | 'resealed' | 'unreadable' | 'deleted'

async function reseal(
  database: Database,
  keys: CredentialKeys,
  found: Destination,
): Promise<ResealOutcome> {
  const { trackerId, id } = found
  let destination: Destination | null = found
  for (let tries = 0; tries < TRIES_MAX; tries += 1) {
    if (!destination) return 'deleted'
    const opened = openCredential(keys, id, destination.sealedCredential)
    if (!opened) return 'unreadable'
    if (opened.key === 'current') return 'current'
    const resealed = sealCredential(keys, id, opened.credential)
    if (await rewriteSealedCredential(database, destination, resealed)) return 'resealed'
    destination = await findDestination(database, trackerId, id)
  }
  throw new Error(`the credential of destination ${id} keeps changing`)
}

const PAGE_ROWS_MAX = 500

/** All destinations, by tracker, one page at a time. */
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

/** The destinations with this id, of one tracker or of any: usually one, and two at most. */
export async function findDestinationsOfId(
  { query }: Database,
  { id, trackerId }: { id: string; trackerId: string | null },
): Promise<Destination[]> {
  const byId = query.selectFrom('destinations').selectAll().where('id', '=', id).limit(2)
  const ofTracker = trackerId === null ? byId : byId.where('tracker_id', '=', trackerId)
  return (await ofTracker.execute()).map(destinationOf)
}

interface SealedChange {
  trackerId: string
  destinationId: string
  sealedCredential: Buffer
  config: TargetConfig
  at: Date
}

async function replaceCredential(
  { query }: Transaction,
  { trackerId, destinationId, sealedCredential, config, at }: SealedChange,
): Promise<boolean> {
  const changed = await query
    .updateTable('destinations')
    .set({
      sealed_credential: sealedCredential,
      config: sql`config || ${JSON.stringify(config)}::jsonb`,
      // A person who paused it resumes it; the new credential is used from then on.
      status: sql`case when paused_at is null then 'active' else status end`,
      status_reason: sql`case when paused_at is null then null else status_reason end`,
      next_probe_at: null,
      failed_probes: 0,
      // What the platform asked for was asked of the credential before.
      backoff_cause: null,
      backoff_since: null,
      backoff_until: null,
      updated_at: at,
    })
    .where('tracker_id', '=', trackerId)
    .where('id', '=', destinationId)
    .where('disconnected_at', 'is', null)
    .returning('id')
    .executeTakeFirst()
  return changed !== undefined
}

/**
 * Stores the same credential in other bytes; nothing else of the destination changes. False when
 * the destination has another credential by now, which is not overwritten.
 */
async function rewriteSealedCredential(
  { query }: Database,
  { trackerId, id, sealedCredential }: Destination,
  resealed: Buffer,
): Promise<boolean> {
  const changed = await query
    .updateTable('destinations')
    .set({ sealed_credential: resealed })
    .where('tracker_id', '=', trackerId)
    .where('id', '=', id)
    .where('sealed_credential', '=', sealedCredential)
    .returning('id')
    .executeTakeFirst()
  return changed !== undefined
}
