import type { Transaction } from '../../db/database.ts'

/** Actions of an ad account on which a person may still decide at this moment. */
export async function countPendingActions(
  { query }: Transaction,
  { workspaceId, adAccountId }: { workspaceId: number; adAccountId: number },
  at: Date,
): Promise<number> {
  const { count } = await query
    .selectFrom('agent_actions as action')
    .innerJoin('agent_batches as batch', 'batch.id', 'action.batch_id')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('action.workspace_id', '=', workspaceId)
    .where('action.ad_account_id', '=', adAccountId)
    .where('action.status', '=', 'pending')
    .where('batch.expires_at', '>', at)
    .executeTakeFirstOrThrow()
  return count
}
