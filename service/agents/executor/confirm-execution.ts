import type { ActionOutcome, EntityState } from '@signalbox/contract/agents/actions.ts'
import type { AuditAction } from '@signalbox/contract/agents/audit-actions.ts'
import type { Transaction } from '../../runtime/db/database.ts'
import { hasSameSettings } from '../approvals/action-preconditions.ts'
import type { Action, ActionTransition } from '../proposals/action.ts'
import { getAction, recordRollbackRequest } from '../proposals/action-store.ts'
import { transitionAction } from '../proposals/transition-action.ts'
import { type ExecutionContext, lockAction, readTarget, SYSTEM } from './execute-action.ts'

/**
 * Verifies a change. The entity has the proposed state, or the previous state is restored, or a
 * user must check. Returns an action in any other status unchanged. A verified action of an
 * all-or-nothing batch stays pending: it ends with the other actions.
 */
export async function confirmExecution(
  context: ExecutionContext,
  actionId: number,
): Promise<Action> {
  const action = await verifyExecution(context, actionId)
  const mustRestore = isPendingVerification(action) && action.rollbackRequestedAt !== null
  return mustRestore ? rollBack(context, action) : action
}

function isPendingVerification({ status }: Action): boolean {
  return status === 'executed_pending_verification'
}

/**
 * Commits the result of the verification. If the previous state must be restored, commits that
 * request and leaves the status: a restored entity has a new version, which would look like a
 * change made elsewhere to a repeated verification.
 */
async function verifyExecution(context: ExecutionContext, actionId: number): Promise<Action> {
  const { database } = context
  const seen = await getAction(database, actionId)
  if (!isPendingVerification(seen) || seen.rollbackRequestedAt) return seen
  const found = await readTarget(context, seen)
  return database.query.transaction().execute(async query => {
    const action = await lockAction({ query }, actionId)
    if (!isPendingVerification(action) || action.rollbackRequestedAt) return action
    const confirmation = resolveVerification(action, found)
    if (action.isAllOrNothing && confirmation === VERIFIED) return action
    return record({ query }, context, { action, confirmation, found })
  })
}

function record(
  transaction: Transaction,
  context: ExecutionContext,
  { action, confirmation, found }: Verified & { confirmation: Confirmation | 'roll_back' },
): Promise<Action> {
  return confirmation === 'roll_back'
    ? recordRollbackRequest(transaction, action, context.now())
    : settle(transaction, context, { action, confirmation, found })
}

interface Verified {
  /** Locked, and pending verification. */
  action: Action
  found: EntityState | null
}

/**
 * Ends the actions of an all-or-nothing batch as verified, if all entities have the proposed state.
 * Otherwise records the result of those that differ, which fails the batch, and returns false.
 */
export async function recordVerifications(
  transaction: Transaction,
  context: ExecutionContext,
  verified: readonly Verified[],
): Promise<boolean> {
  const results = verified.map(({ action, found }) => {
    return { action, found, confirmation: resolveVerification(action, found) }
  })
  const failed = results.filter(({ confirmation }) => confirmation !== VERIFIED)
  for (const result of failed.length === 0 ? results : failed) {
    await record(transaction, context, result)
  }
  return failed.length === 0
}

interface Confirmation extends ActionTransition {
  auditAction: AuditAction
}

const VERIFIED = { to: 'verified', outcome: null, auditAction: 'action.verified' } as const
const ROLLED_BACK = {
  to: 'rolled_back',
  outcome: 'not_applied',
  auditAction: 'action.rolled_back',
} as const
const UNCERTAIN = { to: 'execution_uncertain', auditAction: 'action.uncertain' } as const

function resolveVerification(
  action: Action,
  found: EntityState | null,
): Confirmation | 'roll_back' {
  const verification = verifyChange(action, found)
  switch (verification) {
    case 'as_proposed':
      return VERIFIED
    case 'changed_elsewhere':
      return { ...UNCERTAIN, outcome: verification }
    case 'not_applied':
      if (!action.before || !found) return { ...UNCERTAIN, outcome: verification }
      return hasSameSettings(found, action.before) ? ROLLED_BACK : 'roll_back'
  }
}

/** Restores the previous state unless the version changed: never undoes other changes. */
async function rollBack(context: ExecutionContext, failed: Action): Promise<Action> {
  const { database, now, campaigns } = context
  const { id, adAccountId, target, before: desired, after: expected } = failed
  if (!desired || !expected) throw new Error(`action ${id} has no state to restore`)
  const change = { key: `action-${id}-rollback`, expected, desired, at: now() }
  const after = await campaigns.changeEntity(adAccountId, change)
  const found = await readTarget(context, { adAccountId, target })
  const verification = verifyChange({ proposed: desired, after }, found)
  const confirmation =
    verification === 'as_proposed'
      ? { ...ROLLED_BACK, outcome: restoreOutcome(failed) }
      : { ...UNCERTAIN, outcome: verification }
  return database.query.transaction().execute(async query => {
    const action = await lockAction({ query }, id)
    if (!isPendingVerification(action)) return action
    return settle({ query }, context, { action, confirmation, found })
  })
}

/** Whether the platform did not apply the change itself, or another action failed its batch. */
function restoreOutcome({ isAllOrNothing, proposed, after }: Action): ActionOutcome {
  const isApplied = proposed !== null && after !== null && hasSameSettings(after, proposed)
  return isAllOrNothing && isApplied ? 'batch_failed' : 'not_applied'
}

interface Settlement {
  /** Locked. */
  action: Action
  confirmation: Confirmation
  /** The final state. */
  found: EntityState | null
}

function settle(
  transaction: Transaction,
  { now, audit }: ExecutionContext,
  { action, confirmation, found }: Settlement,
): Promise<Action> {
  return transitionAction(transaction, audit, {
    action,
    ...confirmation,
    at: now(),
    actor: SYSTEM,
    details: { version_found: found?.version ?? null },
    // Keep the state after the change if the entity is gone.
    changes: { after: found ?? action.after },
  })
}

/**
 * The result of a verification:
 * - `as_proposed`: the entity has the proposed state.
 * - `not_applied`: it has another state and was not changed since, so the platform applied another
 *   change. The previous state can be restored.
 * - `changed_elsewhere`: it was changed since, or is gone. Restoring would undo that change.
 */
type Verification = 'as_proposed' | 'not_applied' | 'changed_elsewhere'

/** Compares the found state with the proposed one; `after` is the state right after the change. */
export function verifyChange(
  { proposed, after }: Pick<Action, 'proposed' | 'after'>,
  found: EntityState | null,
): Verification {
  if (found === null || proposed === null || after === null) return 'changed_elsewhere'
  if (hasSameSettings(found, proposed)) return 'as_proposed'
  return found.version === after.version ? 'not_applied' : 'changed_elsewhere'
}
