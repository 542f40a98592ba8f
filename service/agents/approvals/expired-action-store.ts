import type { Transaction } from '../../db/database.ts'

/** Actions that still wait although their time to be decided on is over, the oldest first. */
export async function findExpired(
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
