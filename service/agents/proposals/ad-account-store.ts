import { sql } from 'kysely'
import type { Transaction } from '../../runtime/db/database.ts'
import type { EntityRef } from '../campaigns/campaign-api.ts'
import { startOfAccountDay } from '../policy/account-formats.ts'
import type { DayUsage } from '../policy/money-limits.ts'

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

/** The local day of an ad account. */
interface AccountDay {
  adAccountId: number
  timeZone: string
  at: Date
  /** Counts only the actions that started before this one; undefined counts all. */
  before?: { id: number; executionStartedAt: Date } | undefined
}

/**
 * The actions that were started or approved as suggestions in an ad account on its current day. The
 * money of failed ones is given back, because they changed nothing; their number is not.
 */
export async function findDayUsage(transaction: Transaction, day: AccountDay): Promise<DayUsage> {
  return selectStartedActions(transaction, day)
    .select([
      sql<number>`coalesce(sum(change_minor) filter (where status <> 'failed'), 0)::bigint`.as(
        'changedMinor',
      ),
      sql<number>`count(*)`.as('actionCount'),
    ])
    .executeTakeFirstOrThrow()
}

/** Finds the daily budget of an entity at the start of the day; null if no action touched it. */
export type DayStartBudgets = (target: EntityRef) => number | null

/**
 * The daily budgets of entities at the start of the account's day: as the first action of the day
 * found them. Entities without an action on that day still have that budget, as far as is known.
 */
export async function findDayStartBudgets(
  transaction: Transaction,
  day: AccountDay,
): Promise<DayStartBudgets> {
  const rows = await selectStartedActions(transaction, day)
    .distinctOn(['target_type', 'target_id'])
    .select([
      'target_type as type',
      'target_id as id',
      sql<number | null>`(state_before ->> 'daily_budget_minor')::integer`.as('budget'),
    ])
    .orderBy('target_type')
    .orderBy('target_id')
    .orderBy(STARTED_AT)
    .orderBy('id')
    .execute()
  return ({ type, id }) => rows.find(row => row.type === type && row.id === id)?.budget ?? null
}

/** Executions and approved suggestions, which people make elsewhere. */
function selectStartedActions(
  { query }: Transaction,
  { adAccountId, timeZone, at, before }: AccountDay,
) {
  const since = startOfAccountDay(at, timeZone)
  return query
    .selectFrom('agent_actions')
    .where('ad_account_id', '=', adAccountId)
    .where(({ or, and, eb }) =>
      or([
        eb('execution_started_at', '>=', since),
        and([eb('status', '=', 'approved_without_execution'), eb('decided_at', '>=', since)]),
      ]),
    )
    .$if(before !== undefined, started =>
      started.where(
        sql<boolean>`(${STARTED_AT}, id) < (${before?.executionStartedAt}, ${before?.id})`,
      ),
    )
}

const STARTED_AT = sql<Date>`coalesce(execution_started_at, decided_at)`
