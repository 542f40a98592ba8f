import type { Transaction } from '../../db/database.ts'

/** What a decision needs of an ad account. */
export interface JudgedAccount {
  adAccountId: number
  currency: string
  /** IANA; its days begin in it. */
  timeZone: string
}

/**
 * Holds the row of an active ad account until the transaction ends, so that the proposals for it
 * are judged one after the other and each counts what those before it have begun. Rows that only
 * refer to the account are not kept waiting. Null: it is not active, or not of this workspace.
 */
export async function lockAdAccount(
  { query }: Transaction,
  { workspaceId, adAccountId }: { workspaceId: number; adAccountId: number },
): Promise<JudgedAccount | null> {
  const row = await query
    .selectFrom('ad_accounts')
    .select(['id', 'currency', 'time_zone'])
    .where('id', '=', adAccountId)
    .where('workspace_id', '=', workspaceId)
    .where('status', '=', 'active')
    .forNoKeyUpdate()
    .executeTakeFirst()
  return row ? { adAccountId: row.id, currency: row.currency, timeZone: row.time_zone } : null
}
