import type { ActionOutcome } from '@signalbox/contract/agents/actions.ts'
import type { ActionPolicy } from '@signalbox/contract/agents/policy.ts'
import type { Transaction } from '../../db/database.ts'
import { isLivePrincipal } from '../../oauth/principal-store.ts'
import { holdPolicy } from '../policy/read-policy.ts'
import type { Action } from '../proposals/action.ts'
import { holdAdAccount } from './standing-store.ts'

/** On what an action rests besides the entity itself, at one moment. */
export interface Standing {
  at: Date
  adAccountId: number
  /** Why it rests on nothing any more; null while ad account and credential hold. */
  loss: Extract<ActionOutcome, 'account_changed' | 'proposer_revoked'> | null
  policy: ActionPolicy
  timeZone: string
  currency: string
}

/**
 * Reads what an action rests on and holds it until the transaction ends. The caller holds the
 * action. All actions of a batch rest on the same.
 */
export async function holdStanding(
  transaction: Transaction,
  { workspaceId, adAccountId, proposer }: Pick<Action, 'workspaceId' | 'adAccountId' | 'proposer'>,
  at: Date,
): Promise<Standing> {
  // The account before the workspace, as proposals do.
  const { isActive, timeZone, currency } = await holdAdAccount(transaction, adAccountId)
  const policy = await holdPolicy(transaction, workspaceId)
  const { kind, id } = proposer
  const isLive = await isLivePrincipal(transaction, { kind, id, adAccountId }, at)
  const loss = isActive ? (isLive ? null : 'proposer_revoked') : 'account_changed'
  return { at, adAccountId, loss, policy, timeZone, currency }
}
