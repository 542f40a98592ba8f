import type { AuditActor, AuditEntry } from '../../audit/audit-entry.ts'
import { type AuditedContext, commitAudited } from '../../audit/audit-store.ts'
import { type Database, isCitusCluster } from '../../runtime/db/database.ts'
import type { TrackerIdentity } from '../access/tracker-store.ts'
import {
  countReplayable,
  type ReplayCounts,
  type ReplaySelection,
  replayFailed,
} from './replay-store.ts'
import { WINDOW_MARGIN_SECONDS } from './review-deliveries.ts'

export interface ReplayRequest {
  tracker: TrackerIdentity
  /** The key of the tracker, or the person. */
  actor: AuditActor
  selection: ReplaySelection
  at: Date
}

/**
 * Queues the failed deliveries of a selection that can still be sent. Every request is audited,
 * even one that finds nothing. The caller wakes the workers.
 */
export async function replaySelection(
  context: AuditedContext,
  request: ReplayRequest,
): Promise<ReplayCounts> {
  const isCluster = await isCitusCluster(context.database)
  return commitAudited(context, async (transaction, record) => {
    const counts = await replayFailed(transaction, toReplay(request), { isCluster })
    record(replayEntry(request, counts))
    return counts
  })
}

/** What `replaySelection` would do at this time. Changes nothing. */
export function previewSelection(
  { query }: Database,
  request: Pick<ReplayRequest, 'selection' | 'at'>,
): Promise<ReplayCounts> {
  return query
    .transaction()
    .execute(transaction => countReplayable({ query: transaction }, toReplay(request)))
}

function toReplay({ selection, at }: Pick<ReplayRequest, 'selection' | 'at'>) {
  const windowEndsAfter = new Date(at.getTime() + WINDOW_MARGIN_SECONDS * 1_000)
  return { ...selection, at, windowEndsAfter }
}

/** Its known members only. */
function namedCause(cause: NonNullable<ReplaySelection['cause']>) {
  const members = CAUSE_MEMBERS.flatMap(name => {
    return cause[name] === undefined ? [] : [[name, cause[name]]]
  })
  return Object.fromEntries(members)
}

const CAUSE_MEMBERS = ['class', 'code', 'subcode'] as const

function replayEntry(
  { tracker: { trackerId, workspaceId }, actor, selection, at }: ReplayRequest,
  { queued, expired, payloadExpired, isCapped }: ReplayCounts,
): AuditEntry {
  const { deliveryIds, eventName, statuses, destinationId, cause, limit } = selection
  const foundCount = queued + expired + payloadExpired
  return {
    workspaceId,
    at,
    actor,
    action: 'deliveries.replayed',
    subject: { type: 'tracker', id: trackerId },
    details: {
      queued,
      expired,
      payload_expired: payloadExpired,
      capped: isCapped,
      limit,
      delivery_ids: deliveryIds?.length ?? null,
      // A name or a cause that matches nothing is free text, which the audit log never contains.
      event_name: foundCount > 0 ? eventName : null,
      ...(statuses && { statuses }),
      ...(destinationId && { destination_id: destinationId }),
      ...(cause && foundCount > 0 && { cause: namedCause(cause) }),
    },
  }
}
