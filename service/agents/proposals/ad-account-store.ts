import type { Transaction } from '../../db/database.ts'

/** What a decision needs of an ad account. */
export interface AdAccountSettings {
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
export async function lockActiveAdAccount(
  { query }: Transaction,
  { workspaceId, adAccountId }: { workspaceId: number; adAccountId: number },
): Promise<AdAccountSettings | null> {
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

interface LockedAdAccount {
  /** It and its workspace are active. */
  isActive: boolean
  timeZone: string
  currency: string
}

/**
 * The ad account and its workspace as they are, and as they stay until the transaction ends: who
 * disables one of them waits for what is being done with it.
 */
export async function lockAdAccountShared(
  { query }: Transaction,
  adAccountId: number,
): Promise<LockedAdAccount> {
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
