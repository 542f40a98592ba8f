import type { Transaction } from '../../db/database.ts'

/** Actions that still wait although their time to be decided on is over, the oldest first. */
export async function findExpiredActions(
  { query }: Transaction,
  at: Date,
  countMax: number,
): Promise<number[]> {
  const rows = await query
    .selectFrom('agent_actions')
    .innerJoin('agent_batches', 'agent_batches.id', 'agent_actions.batch_id')
    .select('agent_actions.id')
    .where('agent_actions.status', '=', 'pending')
    .where('agent_batches.expires_at', '<=', at)
    .orderBy('agent_actions.id')
    .limit(countMax)
    .execute()
  return rows.map(({ id }) => id)
}

/** Actions that were left halfway before this moment, the oldest first. */
export async function findUnfinishedActions(
  { query }: Transaction,
  before: Date,
  countMax: number,
): Promise<number[]> {
  const rows = await query
    .selectFrom('agent_actions')
    .select('id')
    .where('status', 'in', ['executing', 'executed_pending_verification'])
    .where('updated_at', '<=', before)
    .orderBy('updated_at')
    .orderBy('id')
    .limit(countMax)
    .execute()
  return rows.map(({ id }) => id)
}

/** Actions of an ad account on which a person may still decide at this moment. */
export async function countOpenApprovals(
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
