import type { ActionOutcome } from '@signalbox/contract/agents/actions.ts'
import type { Transaction } from '../../db/database.ts'
import { holdStanding, type Standing } from '../approvals/hold-standing.ts'
import { policyVerdict } from '../approvals/policy-verdict.ts'
import type { Action } from '../proposals/action.ts'
import { lockActions } from '../proposals/action-store.ts'
import { moveAction } from '../proposals/move-action.ts'
import { verifyBefore } from '../verifier/verify-before.ts'
import type { ExecutionContext } from './carry-out.ts'

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
    const action = await heldAction(transaction, actionId)
    if (action.status !== 'executing') return action
    const at = now()
    const standing = await holdStanding(transaction, action, at)
    const fail = (outcome: ActionOutcome) =>
      moveAction(transaction, audit, {
        action,
        ...{ to: 'failed', outcome, at, actor: SYSTEM, audit: 'action.failed' },
        details: { policy_version: standing.policy.version },
      })
    const loss = standing.loss ?? (isStillAllowed(action, standing) ? null : 'policy_changed')
    if (loss !== null) return fail(loss)
    const expected = await verifyBefore(transaction, platform, action)
    const { adAccountId, proposed: wanted } = action
    if (!expected || !wanted) return fail('stale')
    const isChanged = await platform.changeEntity(transaction, adAccountId, {
      expected,
      wanted,
      at,
    })
    if (!isChanged) return fail('stale')
    const [after = null] = await platform.readEntities(transaction, adAccountId, [action.target])
    return moveAction(transaction, audit, {
      action,
      ...{ to: 'executed_pending_verification', outcome: null, at },
      ...{ actor: SYSTEM, audit: 'action.executed' },
      details: { policy_version: standing.policy.version, version_after: after?.version ?? null },
      changes: { after, executedAt: at },
    })
  })
}

/** One action, held until the transaction ends. */
export async function heldAction(transaction: Transaction, actionId: number): Promise<Action> {
  const [action] = await lockActions(transaction, [actionId])
  if (action) return action
  throw new Error(`there is no action ${actionId}`)
}

/** What a person approved has to be possible still; what nobody approved, allowed without one. */
function isStillAllowed(action: Action, standing: Standing): boolean {
  const verdict = policyVerdict(action, standing)
  if (action.decidedBy === null) return verdict === 'allow'
  return verdict !== 'block' && standing.policy.execution_mode !== 'suggest_only'
}
