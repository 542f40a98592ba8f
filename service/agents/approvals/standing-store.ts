import type { Transaction } from '../../db/database.ts'

export interface HeldAccount {
  /** It and its workspace are active. */
  isActive: boolean
  timeZone: string
  currency: string
}

/**
 * The ad account and its workspace as they are, and as they stay until the transaction ends: who
 * disables one of them waits for what is being done with it.
 */
export async function holdAdAccount(
  { query }: Transaction,
  adAccountId: number,
): Promise<HeldAccount> {
  const row = await query
    .selectFrom('ad_accounts as account')
    .innerJoin('workspaces as workspace', 'workspace.id', 'account.workspace_id')
    .select(['account.status', 'account.time_zone', 'account.currency'])
    .select('workspace.status as workspace_status')
    .where('account.id', '=', adAccountId)
    .forShare()
    .executeTakeFirstOrThrow()
  return {
    isActive: row.status === 'active' && row.workspace_status === 'active',
    timeZone: row.time_zone,
    currency: row.currency,
  }
}
