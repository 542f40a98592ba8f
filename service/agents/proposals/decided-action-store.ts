import type { Transaction } from '../../runtime/db/database.ts'
import type { Action } from './action.ts'
import { selectActions, toAction } from './action-store.ts'

export interface DecidedPageQuery {
  workspaceId: number
  /** Only actions with a lower ID; null for the newest. */
  before: number | null
  limit: number
}

/** A page of the actions that wait for no decision, newest first, with their currency. */
export async function findDecidedActions(
  transaction: Transaction,
  { workspaceId, before, limit }: DecidedPageQuery,
): Promise<{ action: Action; currency: string }[]> {
  const rows = await selectActions(transaction)
    .innerJoin('ad_accounts', 'ad_accounts.id', 'agent_actions.ad_account_id')
    .select('ad_accounts.currency')
    .where('agent_actions.workspace_id', '=', workspaceId)
    .where('agent_actions.status', '<>', 'pending')
    .$if(before !== null, query => query.where('agent_actions.id', '<', before))
    .orderBy('agent_actions.id', 'desc')
    .limit(limit)
    .execute()
  return rows.map(row => ({ action: toAction(row), currency: row.currency }))
}
