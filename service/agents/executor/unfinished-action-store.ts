import type { Transaction } from '../../db/database.ts'

/** Actions that were left halfway before this moment, the oldest first. */
export async function findUnfinished(
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
