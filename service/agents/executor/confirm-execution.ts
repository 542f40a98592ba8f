import type { EntityState } from '@signalbox/contract/agents/actions.ts'
import type { AuditAction } from '../../audit/audit-entry.ts'
import type { Transaction } from '../../db/database.ts'
import { hasSameSettings } from '../approvals/action-preconditions.ts'
import type { Action, ActionTransition } from '../proposals/action.ts'
import { getAction, recordRollbackRequest } from '../proposals/action-store.ts'
import { transitionAction } from '../proposals/transition-action.ts'
import { type ExecutionContext, lockAction, readTarget, SYSTEM } from './execute-action.ts'

/**
 * Verifies a change. The entity has the proposed state, or the previous state is restored, or a
 * person must check. Returns an action in any other status unchanged.
 */
export async function confirmExecution(
  context: ExecutionContext,
  actionId: number,
): Promise<Action> {
  const action = await verifyExecution(context, actionId)
  return isPendingVerification(action) ? rollBack(context, action) : action
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
  const { database, now } = context
  const seen = await getAction(database, actionId)
  if (!isPendingVerification(seen) || seen.rollbackRequestedAt) return seen
  const found = await readTarget(context, seen)
  return database.query.transaction().execute(async query => {
    const action = await lockAction({ query }, actionId)
    if (!isPendingVerification(action) || action.rollbackRequestedAt) return action
    const confirmation = resolveVerification(action, found)
    return confirmation === 'roll_back'
      ? recordRollbackRequest({ query }, action, now())
      : settle({ query }, context, { action, confirmation, found })
  })
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
async function rollBack(
  context: ExecutionContext,
  { id, adAccountId, target, before: desired, after: expected }: Action,
): Promise<Action> {
  const { database, now, platform } = context
  if (!desired || !expected) throw new Error(`action ${id} has no state to restore`)
  const change = { key: `action-${id}-rollback`, expected, desired, at: now() }
  const after = await platform.changeEntity(adAccountId, change)
  const found = await readTarget(context, { adAccountId, target })
  const verification = verifyChange({ proposed: desired, after }, found)
  const confirmation =
    verification === 'as_proposed' ? ROLLED_BACK : { ...UNCERTAIN, outcome: verification }
  return database.query.transaction().execute(async query => {
    const action = await lockAction({ query }, id)
    if (!isPendingVerification(action)) return action
    return settle({ query }, context, { action, confirmation, found })
  })
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
