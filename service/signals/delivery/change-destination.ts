import type { AuditAction } from '@signalbox/contract/agents/audit-actions.ts'
import type { AuditActor } from '../../audit/audit-entry.ts'
import { type AuditedContext, commitAudited } from '../../audit/audit-store.ts'
import type { TrackerIdentity } from '../access/tracker-store.ts'
import { PAUSE_SENTENCES } from './destination-health.ts'
import { type DestinationUpdate, updateDestination } from './destination-health-store.ts'
import { announceDeliveries } from './destination-queue-store.ts'
import { assertDestinationId, destinationNotFound } from './destination-resource.ts'
import { type Destination, lockDestination } from './destination-store.ts'

interface DestinationChange {
  tracker: TrackerIdentity
  destinationId: string
  /** Already validated; null takes the name away, and undefined keeps it. */
  name?: string | null | undefined
  /** Undefined: nothing changes. */
  isPaused?: boolean | undefined
  actor: AuditActor
  at: Date
}

/**
 * Renames, pauses or resumes a destination. What does not change is not audited, so a repeated
 * request has one entry. A pause keeps what waits, and no probe, no answer and no new credential
 * ends it; requests in flight are finished. A resumed destination is tried with what waits, also
 * where the platform had rejected it before the pause. Throws a 404 refusal.
 */
export async function changeDestination(
  context: AuditedContext,
  { tracker, destinationId, name, isPaused, actor, at }: DestinationChange,
): Promise<Destination> {
  assertDestinationId(destinationId)
  const { trackerId, workspaceId } = tracker
  const key = { trackerId, destinationId }
  const { destination, isResumed } = await commitAudited(context, async (transaction, record) => {
    const before = await lockDestination(transaction, key)
    if (!before) throw destinationNotFound()
    const { update, actions } = compareChange(before, { name, isPaused })
    if (actions.length === 0) return { destination: before, isResumed: false }
    const subject = { type: 'destination', id: before.id } as const
    for (const action of actions) record({ workspaceId, at, actor, action, subject, details: {} })
    const changed = await updateDestination(transaction, key, { ...update, at })
    return { destination: changed, isResumed: update.pause === null }
  })
  if (isResumed) await announceDeliveries(context.database)
  return destination
}

/**
 * Disconnects a destination for good: it gets no new events, and workers skip what waits for it.
 * Its past events, counts and reports stay. Throws a 404 refusal, also for a second request.
 */
export async function disconnectDestination(
  context: AuditedContext,
  { tracker, destinationId, actor, at }: Omit<DestinationChange, 'name' | 'isPaused'>,
): Promise<Destination> {
  assertDestinationId(destinationId)
  const { trackerId, workspaceId } = tracker
  const key = { trackerId, destinationId }
  const disconnected = await commitAudited(context, async (transaction, record) => {
    const before = await lockDestination(transaction, key)
    if (!before) throw destinationNotFound()
    const subject = { type: 'destination', id: before.id } as const
    record({ workspaceId, at, actor, action: 'destination.disconnected', subject, details: {} })
    const disconnect = { reason: PAUSE_SENTENCES.destination_disconnected }
    return updateDestination(transaction, key, { disconnect, at })
  })
  await announceDeliveries(context.database)
  return disconnected
}

/** A destination that the platform paused is not resumed here: a probe or a credential does. */
function compareChange(
  before: Destination,
  { name, isPaused }: Pick<DestinationChange, 'name' | 'isPaused'>,
): { update: DestinationUpdate; actions: AuditAction[] } {
  const actions: AuditAction[] = []
  const update: DestinationUpdate = {}
  if (name !== undefined && name !== before.name) {
    actions.push('destination.renamed')
    update.name = name
  }
  const wasPaused = before.pausedAt !== null
  if (isPaused !== undefined && isPaused !== wasPaused) {
    actions.push(isPaused ? 'destination.paused' : 'destination.resumed')
    update.pause = isPaused ? { reason: PAUSE_SENTENCES.paused_by_user } : null
  }
  return { update, actions }
}
