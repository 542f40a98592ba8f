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
 * Executes and verifies an action that is `executing`, or resumes an interrupted one. Returns an
 * action in any other status unchanged. The change and its verification are separate transactions,
 * so that a failed verification never loses the record of the change. Idempotent and safe to call
 * concurrently.
 */
export async function runExecution(context: ExecutionContext, actionId: number): Promise<Action> {
  const executed = await executeAction(context, actionId)
  return executed.status === 'executed_pending_verification'
    ? confirmExecution(context, actionId)
    : executed
}

export function isInProgress({ status }: Pick<Action, 'status'>): boolean {
  return status === 'executing' || status === 'executed_pending_verification'
}

const SYSTEM = { type: 'system', id: null } as const

/**
 * Changes the entity of an action that is `executing`, in one transaction with its audit entry.
 * Checks and locks all preconditions first; if one fails, nothing is changed and the action fails.
 * Returns an action in any other status unchanged.
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
    const preconditions = await lockPreconditions(transaction, action, at)
    const fail = (outcome: ActionOutcome) =>
      transitionAction(transaction, audit, {
        action,
        to: 'failed',
        outcome,
        at,
        actor: SYSTEM,
        auditAction: 'action.failed',
        details: { policy_version: preconditions.policy.version },
      })
    const failureOutcome =
      preconditions.failureOutcome ??
      (isStillAllowed(action, preconditions) ? null : 'policy_changed')
    if (failureOutcome !== null) return fail(failureOutcome)
    const expected = await readUnchangedTarget(transaction, platform, action)
    const { adAccountId, proposed: desired } = action
    if (!expected || !desired) return fail('stale')
    const isChanged = await platform.changeEntity(transaction, adAccountId, {
      expected,
      desired,
      at,
    })
    if (!isChanged) return fail('stale')
    const [after = null] = await platform.readEntities(transaction, adAccountId, [action.target])
    return transitionAction(transaction, audit, {
      action,
      to: 'executed_pending_verification',
      outcome: null,
      at,
      actor: SYSTEM,
      auditAction: 'action.executed',
      details: {
        policy_version: preconditions.policy.version,
        version_after: after?.version ?? null,
      },
      changes: { after, executedAt: at },
    })
  })
}

async function lockAction(transaction: Transaction, actionId: number): Promise<Action> {
  const [action] = await lockActions(transaction, [actionId])
  if (action) return action
  throw new Error(`there is no action ${actionId}`)
}

/** An approved action must still be possible; others must still be allowed without approval. */
function isStillAllowed(action: Action, preconditions: ActionPreconditions): boolean {
  const decision = reevaluatePolicy(action, preconditions)
  if (action.decidedBy === null) return decision === 'allow'
  return decision !== 'block' && preconditions.policy.execution_mode !== 'suggest_only'
}

/**
 * Reads the entity again before the change. Null if it differs from the state that was evaluated
 * and approved.
 */
async function readUnchangedTarget(
  transaction: Transaction,
  platform: AdPlatform,
  { adAccountId, target, before }: Pick<Action, 'adAccountId' | 'target' | 'before'>,
): Promise<EntityState | null> {
  const [found = null] = await platform.readEntities(transaction, adAccountId, [target])
  return isUnchanged(before, found) ? found : null
}

interface Confirmation extends ActionTransition {
  auditAction: AuditAction
  /** The final state. */
  found: EntityState | null
}

/**
 * Verifies a change. The entity has the proposed state, or the previous state is restored, or a
 * person must check. Returns an action in any other status unchanged.
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
    const { found, ...transition } = await resolveConfirmation({ query }, context, { action, at })
    return transitionAction({ query }, audit, {
      action,
      ...transition,
      at,
      actor: SYSTEM,
      details: { version_found: found?.version ?? null },
      // Keep the state after the change if the entity is gone.
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

/** Restores the previous state unless the version changed: never undoes other changes. */
async function rollBack(
  transaction: Transaction,
  context: ExecutionContext,
  { action, at, found: expected }: ExecutedAction & { found: EntityState | null },
): Promise<Confirmation> {
  const { before, adAccountId } = action
  if (!before || !expected) return { ...UNCERTAIN, outcome: 'not_applied', found: expected }
  if (!hasSameSettings(expected, before)) {
    const change = { expected, desired: before, at }
    const isChanged = await context.platform.changeEntity(transaction, adAccountId, change)
    const found = await readTarget(transaction, context, action)
    if (!isChanged) return { ...UNCERTAIN, outcome: 'changed_elsewhere', found }
    // The platform may apply another change again.
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
