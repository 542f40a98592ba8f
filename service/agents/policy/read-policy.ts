import { ACTION_TYPES } from '@signalbox/contract/agents/actions.ts'
import type { ActionPolicy } from '@signalbox/contract/agents/policy.ts'
import type { Transaction } from '../../db/database.ts'
import { findPolicy, holdForDecision } from './policy-store.ts'

/** What every workspace begins with: agents suggest, and people do. */
export const POLICY_AT_FIRST: ActionPolicy = {
  version: 0,
  execution_mode: 'suggest_only',
  limits: {
    change_percent_max: 20,
    change_minor_max: 5_000,
    daily_total_minor_max: 20_000,
    actions_per_day_max: 10,
    allowed_types: [...ACTION_TYPES],
    quiet_hours: null,
  },
  changed_at: null,
}

/** How a workspace lets its agents act, at this moment. */
export async function readPolicy(
  transaction: Transaction,
  workspaceId: number,
): Promise<ActionPolicy> {
  return (await findPolicy(transaction, workspaceId)) ?? POLICY_AT_FIRST
}

/**
 * The same for a decision that is written down: the policy stays as it is until the transaction
 * ends, so that no entry of the log decides by a policy that an entry before it has replaced.
 */
export async function holdPolicy(
  transaction: Transaction,
  workspaceId: number,
): Promise<ActionPolicy> {
  await holdForDecision(transaction, workspaceId)
  return readPolicy(transaction, workspaceId)
}
