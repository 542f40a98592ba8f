import type { KeyObject } from 'node:crypto'
import { type DeletionResult, DeletionSubmission } from '@signalbox/contract/deletions.ts'
import type { TrackerIdentity } from '../access/store.ts'
import type { AuditTrail } from '../agents/audit/audit-trail.ts'
import type { Database } from '../db/database.ts'
import { bodyCheck } from '../http/checked-body.ts'
import { Refusal } from '../http/refusal.ts'
import { uuidV7 } from '../ingestion/uuid-v7.ts'
import { IDENTIFYING_KEYS, type IdentifyingKey } from '../ledger/identifiers.ts'
import { keyedDigest } from '../ledger/keyed-digest.ts'
import { awaitPayloadWriters, suppressDigest } from '../ledger/suppression-store.ts'
import { erasePerson } from './erase-person.ts'
import { type CompletedDeletion, keepReceipt, type Receipt } from './store.ts'

export interface DeletionContext {
  database: Database
  now: () => Date
  audit: AuditTrail
  /** See erasure-key.ts. */
  erasureKey: () => Promise<KeyObject>
}

type IdentifierType = NonNullable<DeletionSubmission['identifier_type']>

const KEYS_OF: Record<IdentifierType, readonly IdentifyingKey[]> = {
  email: ['em'],
  phone: ['ph'],
  external_id: ['external_id'],
}

const checkBody = bodyCheck<DeletionSubmission>(DeletionSubmission)

/**
 * deleteUserData: forgets a person, named by the digest of one identifier. The order makes it whole
 * while events of the same person come in (docs/decisions/0011): first no new event keeps the
 * digest, then what was being stored is waited for, then what is stored is erased. Repeating it
 * erases what is left, whatever stopped it before. Throws a 422 refusal with every wrong field, or
 * a 503 one when more is left to do.
 */
export async function forgetPerson(
  context: DeletionContext,
  tracker: TrackerIdentity,
  body: unknown,
): Promise<DeletionResult> {
  const { database, now, erasureKey } = context
  const { trackerId } = tracker
  const { identifier_hash, identifier_type } = checkBody(body)
  const digest = identifier_hash.toLowerCase()
  const keys = identifier_type === undefined ? IDENTIFYING_KEYS : KEYS_OF[identifier_type]

  const keyed = keyedDigest(await erasureKey(), trackerId, digest)
  await suppressDigest(database, { trackerId, keyed, at: now() })
  if (!(await awaitPayloadWriters(database))) {
    throw Refusal.unavailable('Events are stored too slowly to erase anybody; try again.', 1)
  }
  const erased = await erasePerson({ database, now }, { trackerId, digest, keys })

  const completedAt = now()
  const newId = `del_${uuidV7(completedAt)}`
  const completed = { trackerId, keyed, newId, ...erased, completedAt }
  const receipt = await keepWithEntry(context, tracker, completed)
  return {
    deletion_request_id: receipt.id,
    duplicate: !receipt.isFirst,
    events_updated: erased.events,
    sessions_updated: erased.sessions,
    completed_at: completedAt.toISOString(),
  }
}

/**
 * The log is kept for good, so it learns that somebody was erased and never who: no digest, keyed
 * or not, for whoever has the identifier could compute it again.
 */
async function keepWithEntry(
  { database, audit }: DeletionContext,
  { trackerId, workspaceId }: TrackerIdentity,
  completed: CompletedDeletion,
): Promise<Receipt> {
  const { events, sessions, completedAt } = completed
  return database.query.transaction().execute(async query => {
    const receipt = await keepReceipt({ query }, completed)
    await audit.append(
      { query },
      {
        workspaceId,
        at: completedAt,
        actor: { type: 'tracker', id: trackerId },
        action: 'user_data.erased',
        subject: { type: 'tracker', id: trackerId },
        details: { receipt_id: receipt.id, events, sessions, is_repeat: !receipt.isFirst },
      },
    )
    return receipt
  })
}
