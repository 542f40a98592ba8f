import type { ActionOutcome, EntityState } from '@signalbox/contract/agents/actions.ts'
import type { AuditAction } from '../../audit/audit-entry.ts'
import type { Transaction } from '../../db/database.ts'
import {
  type ActionPreconditions,
  hasSameSettings,
  isUnchanged,
  lockPreconditions,
  reevaluatePolicy,
} from '../approvals/action-preconditions.ts'
import type { AdPlatform } from '../policy/ad-platform.ts'
import type { Action, ActionTransition } from '../proposals/action.ts'
import { lockActions } from '../proposals/action-store.ts'
import type { ProposalContext } from '../proposals/agents-context.ts'
import { transitionAction } from '../proposals/transition-action.ts'

export type ExecutionContext = Pick<ProposalContext, 'database' | 'now' | 'audit' | 'platform'>

/**
 * Carries an action out that is `executing`, or goes on with one whose process died, and returns it
 * as it is afterwards; any other is left alone. Changing and reading back are a transaction each,
 * so that what was changed is known whatever happens to the second. May be called by several at
 * once and as often as somebody likes: each step is done once.
 */
export async function runExecution(context: ExecutionContext, actionId: number): Promise<Action> {
  const executed = await executeAction(context, actionId)
  return executed.status === 'executed_pending_verification'
    ? confirmExecution(context, actionId)
    : executed
}

/** Whether there is something left to carry out. */
export function isInProgress({ status }: Pick<Action, 'status'>): boolean {
  return status === 'executing' || status === 'executed_pending_verification'
}

const SYSTEM = { type: 'system', id: null } as const

/**
 * Changes the entity of an action that is `executing`, once: in one transaction with the entry that
 * says so. All that the decision rested on is looked at again and held until then; where something
 * is gone, nothing is changed and the action has failed. An action in any other status is returned
 * as it is.
 */
export async function executeAction(
  { database, now, audit, platform }: ExecutionContext,
  actionId: number,
): Promise<Action> {
  return database.query.transaction().execute(async query => {
    const transaction = { query }
    const action = await lockAction(transaction, actionId)
    if (action.status !== 'executing') return action
    const at = now()
    const standing = await lockPreconditions(transaction, action, at)
    const fail = (outcome: ActionOutcome) =>
      transitionAction(transaction, audit, {
        action,
        ...{ to: 'failed', outcome, at, actor: SYSTEM, auditAction: 'action.failed' },
        details: { policy_version: standing.policy.version },
      })
    const loss =
      standing.failureOutcome ?? (isStillAllowed(action, standing) ? null : 'policy_changed')
    if (loss !== null) return fail(loss)
    const expected = await readUnchangedTarget(transaction, platform, action)
    const { adAccountId, proposed: wanted } = action
    if (!expected || !wanted) return fail('stale')
    const isChanged = await platform.changeEntity(transaction, adAccountId, {
      expected,
      wanted,
      at,
    })
    if (!isChanged) return fail('stale')
    const [after = null] = await platform.readEntities(transaction, adAccountId, [action.target])
    return transitionAction(transaction, audit, {
      action,
      ...{ to: 'executed_pending_verification', outcome: null, at },
      ...{ actor: SYSTEM, auditAction: 'action.executed' },
      details: { policy_version: standing.policy.version, version_after: after?.version ?? null },
      changes: { after, executedAt: at },
    })
  })
}

/** One action, held until the transaction ends. */
async function lockAction(transaction: Transaction, actionId: number): Promise<Action> {
  const [action] = await lockActions(transaction, [actionId])
  if (action) return action
  throw new Error(`there is no action ${actionId}`)
}

/** What a person approved has to be possible still; what nobody approved, allowed without one. */
function isStillAllowed(action: Action, standing: ActionPreconditions): boolean {
  const verdict = reevaluatePolicy(action, standing)
  if (action.decidedBy === null) return verdict === 'allow'
  return verdict !== 'block' && standing.policy.execution_mode !== 'suggest_only'
}

/**
 * Reads the entity again before it is changed. Null: it is not as it was when the action was judged
 * and approved, so what was approved does not fit any more.
 */
async function readUnchangedTarget(
  transaction: Transaction,
  platform: AdPlatform,
  { adAccountId, target, before }: Pick<Action, 'adAccountId' | 'target' | 'before'>,
): Promise<EntityState | null> {
  const [found = null] = await platform.readEntities(transaction, adAccountId, [target])
  return isUnchanged(before, found) ? found : null
}

/** What reading back has led to. */
interface Confirmation extends ActionTransition {
  auditAction: AuditAction
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
    const action = await lockAction({ query }, actionId)
    if (action.status !== 'executed_pending_verification') return action
    const at = now()
    const { found, ...move } = await resolveConfirmation({ query }, context, { action, at })
    return transitionAction({ query }, audit, {
      action,
      ...move,
      ...{ at, actor: { type: 'system', id: null } },
      details: { version_found: found?.version ?? null },
      // What was left is kept where what is there now is gone.
      changes: { after: found ?? action.after },
    })
  })
}

interface ExecutedAction {
  action: Action
  at: Date
}

async function resolveConfirmation(
  transaction: Transaction,
  context: ExecutionContext,
  { action, at }: ExecutedAction,
): Promise<Confirmation> {
  const found = await readTarget(transaction, context, action)
  switch (verifyChange(action, found)) {
    case 'as_proposed':
      return { to: 'verified', outcome: null, auditAction: 'action.verified', found }
    case 'changed_elsewhere':
      return { ...UNCERTAIN, outcome: 'changed_elsewhere', found }
    case 'not_applied':
      return rollBack(transaction, context, { action, at, found })
  }
}

const UNCERTAIN = { to: 'execution_uncertain', auditAction: 'action.uncertain' } as const

/** Compensation, bound to the version that was read: what somebody else does is never undone. */
async function rollBack(
  transaction: Transaction,
  context: ExecutionContext,
  { action, at, found: expected }: ExecutedAction & { found: EntityState | null },
): Promise<Confirmation> {
  const { before, adAccountId } = action
  if (!before || !expected) return { ...UNCERTAIN, outcome: 'not_applied', found: expected }
  if (!hasSameSettings(expected, before)) {
    const change = { expected, wanted: before, at }
    const isChanged = await context.platform.changeEntity(transaction, adAccountId, change)
    const found = await readTarget(transaction, context, action)
    if (!isChanged) return { ...UNCERTAIN, outcome: 'changed_elsewhere', found }
    // The platform may do something else than it is told once more.
    if (!found || !hasSameSettings(found, before)) {
      return { ...UNCERTAIN, outcome: 'not_applied', found }
    }
    return { to: 'rolled_back', outcome: 'not_applied', auditAction: 'action.rolled_back', found }
  }
  return {
    to: 'rolled_back',
    outcome: 'not_applied',
    auditAction: 'action.rolled_back',
    found: expected,
  }
}

async function readTarget(
  transaction: Transaction,
  { platform }: ExecutionContext,
  { adAccountId, target }: Action,
): Promise<EntityState | null> {
  const [found = null] = await platform.readEntities(transaction, adAccountId, [target])
  return found
}

/**
 * What an execution has come to:
 * - `as_proposed`: the entity is as the action wanted it.
 * - `not_applied`: it is not, and nobody has changed it since, so that the platform did something
 *   else than it was told. What was before can be put back.
 * - `changed_elsewhere`: somebody has changed it since, or it is gone. Nothing may be put back over
 *   what they did.
 */
type Verification = 'as_proposed' | 'not_applied' | 'changed_elsewhere'

/** Compares what was read back with what was proposed; `after` is as the change had left it. */
export function verifyChange(
  { proposed, after }: Pick<Action, 'proposed' | 'after'>,
  found: EntityState | null,
): Verification {
  if (found === null || proposed === null || after === null) return 'changed_elsewhere'
  if (hasSameSettings(found, proposed)) return 'as_proposed'
  return found.version === after.version ? 'not_applied' : 'changed_elsewhere'
}
