import type { Transaction } from '../../runtime/db/database.ts'

export interface AdAccountSettings {
  adAccountId: number
  currency: string
  /** IANA name; daily limits use its local day. */
  timeZone: string
}

/**
 * Locks an active ad account until the transaction ends. This serializes proposals, so that daily
 * limits count earlier ones. Rows that only reference the account are not blocked. Null if the
 * account is not active or not in this workspace.
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
  /** The ad account and its workspace are active. */
  isActive: boolean
  timeZone: string
  currency: string
}

/**
 * Locks an ad account and its workspace until the transaction ends; disabling either of them waits
 * for it. An exclusive lock of the account also waits for proposals and approvals.
 */
export async function lockAdAccount(
  { query }: Transaction,
  adAccountId: number,
  lock: 'shared' | 'exclusive',
): Promise<LockedAdAccount> {
  const row = await query
    .selectFrom('ad_accounts as account')
    .innerJoin('workspaces as workspace', 'workspace.id', 'account.workspace_id')
    .select(['account.status', 'account.time_zone', 'account.currency'])
    .select('workspace.status as workspace_status')
    .where('account.id', '=', adAccountId)
    .$if(lock === 'shared', selection => selection.forShare())
    .$if(lock === 'exclusive', selection =>
      selection.forNoKeyUpdate('account').forShare('workspace'),
    )
    .executeTakeFirstOrThrow()
  return {
    isActive: row.status === 'active' && row.workspace_status === 'active',
    timeZone: row.time_zone,
    currency: row.currency,
  }
}
