import type { EntityState } from '@signalbox/contract/agents/actions.ts'
import type { Transaction } from '../../db/database.ts'
import { isSameSetting } from '../approvals/is-unchanged.ts'
import type { AuditAction } from '../audit/audit-entry.ts'
import type { Action } from '../proposals/action.ts'
import type { ActionMove } from '../proposals/action-moves.ts'
import { moveAction } from '../proposals/move-action.ts'
import { verifyAfter } from '../verifier/verify-after.ts'
import type { ExecutionContext } from './carry-out.ts'
import { heldAction } from './execute-action.ts'

/** What reading back has led to. */
interface Confirmation extends ActionMove {
  audit: AuditAction
  /** As it is at the end. */
  found: EntityState | null
}

/**
 * Reads an entity back that was changed. It is as proposed, or what was before is put back, or
 * nobody can tell and a person has to look. An action in any other status is returned as it is.
 */
export async function confirmExecution(
  context: ExecutionContext,
  actionId: number,
): Promise<Action> {
  const { database, now, audit } = context
  return database.query.transaction().execute(async query => {
    const action = await heldAction({ query }, actionId)
    if (action.status !== 'executed_pending_verification') return action
    const at = now()
    const { found, ...move } = await confirmation({ query }, context, { action, at })
    return moveAction({ query }, audit, {
      action,
      ...move,
      ...{ at, actor: { type: 'system', id: null } },
      details: { version_found: found?.version ?? null },
      // What was left is kept where what is there now is gone.
      changes: { after: found ?? action.after },
    })
  })
}

interface Executed {
  action: Action
  at: Date
}

async function confirmation(
  transaction: Transaction,
  context: ExecutionContext,
  { action, at }: Executed,
): Promise<Confirmation> {
  const found = await readTarget(transaction, context, action)
  switch (verifyAfter(action, found)) {
    case 'as_proposed':
      return { to: 'verified', outcome: null, audit: 'action.verified', found }
    case 'changed_elsewhere':
      return { ...UNCERTAIN, outcome: 'changed_elsewhere', found }
    case 'not_applied':
      return putBack(transaction, context, { action, at, found })
  }
}

const UNCERTAIN = { to: 'execution_uncertain', audit: 'action.uncertain' } as const

/** Compensation, bound to the version that was read: what somebody else does is never undone. */
async function putBack(
  transaction: Transaction,
  context: ExecutionContext,
  { action, at, found: expected }: Executed & { found: EntityState | null },
): Promise<Confirmation> {
  const { before, adAccountId } = action
  if (!before || !expected) return { ...UNCERTAIN, outcome: 'not_applied', found: expected }
  if (!isSameSetting(expected, before)) {
    const change = { expected, wanted: before, at }
    const isChanged = await context.platform.changeEntity(transaction, adAccountId, change)
    const found = await readTarget(transaction, context, action)
    if (!isChanged) return { ...UNCERTAIN, outcome: 'changed_elsewhere', found }
    // The platform may do something else than it is told once more.
    if (!found || !isSameSetting(found, before)) {
      return { ...UNCERTAIN, outcome: 'not_applied', found }
    }
    return { to: 'rolled_back', outcome: 'not_applied', audit: 'action.rolled_back', found }
  }
  return { to: 'rolled_back', outcome: 'not_applied', audit: 'action.rolled_back', found: expected }
}

async function readTarget(
  transaction: Transaction,
  { platform }: ExecutionContext,
  { adAccountId, target }: Action,
): Promise<EntityState | null> {
  const [found = null] = await platform.readEntities(transaction, adAccountId, [target])
  return found
}
