import type { Selectable } from 'kysely'
import type { Database } from '../../runtime/db/database.ts'
import type { Tables } from '../../runtime/db/tables.ts'

/** `id` is our own; `platformAccountId` is the ID that the platform assigned. */
export interface AdAccount {
  id: number
  workspaceId: number
  platform: string
  platformAccountId: string
  name: string
  currency: string
  timeZone: string
  status: AdAccountStatus
  createdAt: Date
}

type AdAccountStatus = 'active' | 'disabled'

/** An ad account that a user can choose when approving an agent. */
export interface OwnedAdAccount {
  adAccountId: number
  workspaceId: number
  workspaceName: string
  platform: string
  platformAccountId: string
  name: string
  currency: string
  timeZone: string
  status: AdAccountStatus
  requiresSecondFactor: boolean
}

const ACCOUNTS_MAX = 500

/** Active ad accounts of the workspaces that a user owns, ordered by workspace and name. */
export async function listOwnedAdAccounts(
  { query }: Database,
  userId: number,
): Promise<OwnedAdAccount[]> {
  const rows = await query
    .selectFrom('ad_accounts as account')
    .innerJoin('workspaces as workspace', 'workspace.id', 'account.workspace_id')
    .innerJoin('members as member', 'member.workspace_id', 'workspace.id')
    .innerJoin('people.users as person', 'person.id', 'member.user_id')
    .selectAll('account')
    .select(['workspace.name as workspace_name', 'workspace.requires_second_factor'])
    .where('member.user_id', '=', userId)
    .where('member.role', '=', 'owner')
    .where('person.status', '=', 'active')
    .where('workspace.status', '=', 'active')
    .where('account.status', '=', 'active')
    .orderBy('workspace.name')
    .orderBy('account.name')
    .orderBy('account.id')
    .limit(ACCOUNTS_MAX)
    .execute()
  return rows.map(row => {
    const { id: adAccountId, createdAt: _, ...account } = toAdAccount(row)
    const { workspace_name: workspaceName, requires_second_factor: requiresSecondFactor } = row
    return { adAccountId, ...account, workspaceName, requiresSecondFactor }
  })
}

interface AdAccountKey {
  workspaceId: number
  adAccountId: number
}

/** Any status. Null when the workspace has none with this ID. */
export async function findAdAccount(
  { query }: Pick<Database, 'query'>,
  { workspaceId, adAccountId }: AdAccountKey,
): Promise<AdAccount | null> {
  const row = await query
    .selectFrom('ad_accounts')
    .selectAll()
    .where('id', '=', adAccountId)
    .where('workspace_id', '=', workspaceId)
    .executeTakeFirst()
  return row ? toAdAccount(row) : null
}

/** Any status, ordered by name. */
export async function listAdAccounts(
  { query }: Database,
  workspaceId: number,
): Promise<AdAccount[]> {
  const rows = await query
    .selectFrom('ad_accounts')
    .selectAll()
    .where('workspace_id', '=', workspaceId)
    .orderBy('name')
    .orderBy('id')
    .limit(ACCOUNTS_MAX)
    .execute()
  return rows.map(toAdAccount)
}

type NewAdAccount = Omit<AdAccount, 'id' | 'status'>

/** Returns null when the workspace already has this account of the platform. */
export async function insertAdAccount(
  { query }: Pick<Database, 'query'>,
  account: NewAdAccount,
): Promise<AdAccount | null> {
  const row = await query
    .insertInto('ad_accounts')
    .values({
      workspace_id: account.workspaceId,
      platform: account.platform,
      platform_account_id: account.platformAccountId,
      name: account.name,
      currency: account.currency,
      time_zone: account.timeZone,
      status: 'active',
      created_at: account.createdAt,
    })
    .onConflict(conflict => conflict.doNothing())
    .returningAll()
    .executeTakeFirst()
  return row ? toAdAccount(row) : null
}

/** Returns false when the workspace has no such account. */
export async function setAdAccountStatus(
  { query }: Pick<Database, 'query'>,
  { workspaceId, adAccountId }: AdAccountKey,
  status: AdAccountStatus,
): Promise<boolean> {
  const found = await query
    .updateTable('ad_accounts')
    .set({ status })
    .where('id', '=', adAccountId)
    .where('workspace_id', '=', workspaceId)
    .returning('id')
    .executeTakeFirst()
  return found !== undefined
}

function toAdAccount(row: Selectable<Tables['ad_accounts']>): AdAccount {
  return {
    id: row.id,
    workspaceId: row.workspace_id,
    platform: row.platform,
    platformAccountId: row.platform_account_id,
    name: row.name,
    currency: row.currency,
    timeZone: row.time_zone,
    status: row.status as AdAccountStatus,
    createdAt: row.created_at,
  }
}
