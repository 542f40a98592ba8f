import { sql } from 'kysely'
import type { Database } from '../../runtime/db/database.ts'
import { PENDING_APPROVALS_MAX } from '../../runtime/pages/navigation.ts'

/**
 * Counts the proposals of a workspace that wait for a decision, for the navigation of its pages.
 * Counts one more than the navigation shows at most. Only reads: `agents/` writes the actions. The
 * status is a literal, because a plan for any parameter could not use the partial index.
 */
export async function countPendingApprovals(
  { query }: Pick<Database, 'query'>,
  workspaceId: number,
): Promise<number> {
  const rows = await query
    .selectFrom('agent_actions')
    .select('batch_id')
    .distinct()
    .where('workspace_id', '=', workspaceId)
    .where(sql<boolean>`status = 'pending'`)
    .limit(PENDING_APPROVALS_MAX + 1)
    .execute()
  return rows.length
}
