import type { KeyObject } from 'node:crypto'
import { type DeletionResult, DeletionSubmission } from '@signalbox/contract/deletions.ts'
import { deleteUserData } from '@signalbox/contract/report-operations.ts'
import type { AuditActor } from '../../audit/audit-entry.ts'
import { type AuditedContext, commitAudited } from '../../audit/audit-store.ts'
import { Refusal } from '../../runtime/http/refusal.ts'
import type { ServiceApp } from '../../runtime/http/service-app.ts'
import { Validator } from '../../runtime/http/validator.ts'
import { generateUuidV7 } from '../../runtime/util/ids.ts'
import type { TrackerIdentity } from '../access/tracker-store.ts'
import {
  computeKeyedDigest,
  IDENTIFYING_KEYS,
  type IdentifyingKey,
} from '../events/person-identifiers.ts'
import { suppressDigest, waitForPayloadWriters } from '../events/suppression-store.ts'
import type { PlatformRegistry } from '../platforms/registry.ts'
import { erasePerson } from './erase-person.ts'
import { type CompletedDeletion, type DeletionReceipt, upsertReceipt } from './erasure-store.ts'

export function erasureRoutes(app: ServiceApp, context: DeletionContext): void {
  app.route({
    ...deleteUserData,
    async handler({ tracker, body }, reply) {
      return reply.code(200).send(await processDeletionRequest(context, tracker, body))
    },
  })
}

export interface DeletionContext extends AuditedContext {
  now: () => Date
  platforms: Pick<PlatformRegistry, 'all'>
  /** See `createErasureKeyProvider`. */
  erasureKey: () => Promise<KeyObject>
}

type IdentifierType = NonNullable<DeletionSubmission['identifier_type']>

const KEYS_OF_TYPE: Record<IdentifierType, readonly IdentifyingKey[]> = {
  email: ['em'],
  phone: ['ph'],
  external_id: ['external_id'],
}

const deletionValidator = new Validator(DeletionSubmission)

/**
 * deleteUserData: erases a person by the digest of one identifier. The order makes the erasure
 * complete while events of the person arrive (docs/decisions/0011): first suppress the digest in
 * new events, then wait for statements that are storing events, then erase stored events. A
 * repeated request erases what an interrupted one left. Throws a 422 refusal with every invalid
 * field, or a 503 refusal when more remains to be done.
 */
export async function processDeletionRequest(
  context: DeletionContext,
  tracker: DeletionRequester,
  body: unknown,
): Promise<DeletionResult> {
  const { database, now, erasureKey } = context
  const { trackerId } = tracker
  const { identifier_hash, identifier_type } = deletionValidator.validate(body)
  const digest = identifier_hash.toLowerCase()
  const keys = identifier_type === undefined ? IDENTIFYING_KEYS : KEYS_OF_TYPE[identifier_type]

  const suppress = (digests: readonly string[]) => suppressDigests(context, trackerId, digests)
  await suppress([digest])
  const key = await erasureKey()
  const toKeyed = (one: string) => computeKeyedDigest(key, trackerId, one)
  const platforms = context.platforms.all.filter(one => one.sendErasure).map(({ name }) => name)
  const scope = { database, platforms, now, suppress, toKeyed }
  const erased = await erasePerson(scope, { trackerId, digest, keys })

  const keyed = toKeyed(digest)
  const completedAt = now()
  const newId = `del_${generateUuidV7(completedAt)}`
  const completed = { trackerId, keyed, newId, ...erased, completedAt }
  const receipt = await recordDeletion(context, tracker, completed)
  return {
    deletion_request_id: receipt.id,
    duplicate: !receipt.isFirst,
    events_updated: erased.events,
    sessions_updated: erased.sessions,
    completed_at: completedAt.toISOString(),
  }
}

/** From now on events with these digests are stored without identity. */
async function suppressDigests(
  { database, now, erasureKey }: DeletionContext,
  trackerId: string,
  digests: readonly string[],
): Promise<void> {
  const key = await erasureKey()
  for (const digest of digests) {
    const keyed = computeKeyedDigest(key, trackerId, digest)
    await suppressDigest(database, { trackerId, keyed, at: now() })
  }
  if (await waitForPayloadWriters(database)) return
  throw Refusal.unavailable(
    'Events are being stored too slowly to complete the erasure; try again.',
    1,
  )
}

interface DeletionRequester extends TrackerIdentity {
  /** A person in the dashboard; without it, a request with the key of the tracker. */
  actor?: AuditActor
}

/**
 * The audit log is permanent, so it records that a person was erased, but no digest of who, keyed
 * or not: anyone with the identifier could compute it again.
 */
async function recordDeletion(
  context: DeletionContext,
  { trackerId, workspaceId, actor = { type: 'tracker', id: trackerId } }: DeletionRequester,
  completed: CompletedDeletion,
): Promise<DeletionReceipt> {
  const { events, sessions, completedAt } = completed
  return commitAudited(context, async (transaction, record) => {
    const receipt = await upsertReceipt(transaction, completed)
    record({
      workspaceId,
      at: completedAt,
      actor,
      action: 'user_data.erased',
      subject: { type: 'tracker', id: trackerId },
      details: { receipt_id: receipt.id, events, sessions, is_repeat: !receipt.isFirst },
    })
    return receipt
  })
}
