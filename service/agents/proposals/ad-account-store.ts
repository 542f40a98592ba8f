import { sql } from 'kysely'
import type { Transaction } from '../../runtime/db/database.ts'
import { DAY_MILLISECONDS } from '../../runtime/util/time.ts'
import type { EntityRef } from '../campaigns/campaign-api.ts'
import { startOfAccountDay } from '../policy/account-formats.ts'
import type { RecentChange, RecentDecrease, RecentPause } from '../policy/account-spend.ts'
import { entityKey } from '../policy/budget-in-motion.ts'
import type { Usage } from '../policy/money-limits.ts'

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
export interface AccountDay {
  adAccountId: number
  timeZone: string
  at: Date
  /** Counts only the actions that started before this one; undefined counts all. */
  before?: { id: number; executionStartedAt: Date } | undefined
}

/**
 * The actions that were started or approved as suggestions in an ad account on its current day, and
 * in the last 7 and 30 days. The money of failed ones is given back, because they changed nothing;
 * their number is not.
 */
export async function findUsage(transaction: Transaction, day: AccountDay): Promise<Usage> {
  const startOfDay = startOfAccountDay(day.at, day.timeZone)
  const changedSince = (since: Date) =>
    sql<number>`coalesce(sum(change_minor)
      filter (where status <> 'failed' and ${STARTED_AT} >= ${since}), 0)::bigint`
  return selectStartedActions(transaction, { ...day, since: daysBefore(day, MONTH_DAYS) })
    .select([
      changedSince(startOfDay).as('changedMinor'),
      changedSince(daysBefore(day, WEEK_DAYS)).as('weekMinor'),
      changedSince(daysBefore(day, MONTH_DAYS)).as('monthMinor'),
      sql<number>`count(*) filter (where ${STARTED_AT} >= ${startOfDay})`.as('actionCount'),
    ])
    .executeTakeFirstOrThrow()
}

const WEEK_DAYS = 7
const MONTH_DAYS = 30

function daysBefore({ at }: AccountDay, days: number): Date {
  return new Date(at.getTime() - days * DAY_MILLISECONDS)
}

/** Finds the daily budget of an entity as an action found it; null if none touched it. */
export type FirstBudgets = (target: EntityRef) => number | null

/**
 * The daily budgets of entities at the start of the account's day: as the first action of the day
 * found them. Entities without an action on that day still have that budget, as far as is known.
 */
export async function findDayStartBudgets(
  transaction: Transaction,
  day: AccountDay,
): Promise<FirstBudgets> {
  const since = startOfAccountDay(day.at, day.timeZone)
  const actions = selectStartedActions(transaction, { ...day, since })
  return toFirstBudgets(await selectFirstBudgets(actions).execute())
}

const FIRST_BUDGET = [
  'target_type as type',
  'target_id as id',
  sql<number | null>`(state_before ->> 'daily_budget_minor')::integer`.as('budget'),
] as const

/** The daily budget of each entity as the first of some actions found it. */
function selectFirstBudgets(actions: ReturnType<typeof selectStartedActions>) {
  return actions
    .distinctOn(['target_type', 'target_id'])
    .select(FIRST_BUDGET)
    .orderBy('target_type')
    .orderBy('target_id')
    .orderBy(STARTED_AT)
    .orderBy('id')
}

function toFirstBudgets(
  rows: readonly { type: string; id: string; budget: number | null }[],
): FirstBudgets {
  return ({ type, id }) => rows.find(row => row.type === type && row.id === id)?.budget ?? null
}

/**
 * The daily budgets of entities before the first change that was executed for them: those at the
 * connection, as far as is known.
 */
export async function findConnectionBudgets(
  { query }: Transaction,
  { adAccountId, before }: AccountDay,
  targets: readonly EntityRef[],
): Promise<FirstBudgets> {
  if (targets.length === 0) return () => null
  const rows = await query
    .selectFrom('agent_actions')
    .distinctOn(['target_type', 'target_id'])
    .select(FIRST_BUDGET)
    .where('ad_account_id', '=', adAccountId)
    .where('execution_started_at', 'is not', null)
    .where(({ eb, refTuple, tuple }) =>
      eb(
        refTuple('target_type', 'target_id'),
        'in',
        targets.map(({ type, id }) => tuple(type as string, id)),
      ),
    )
    .$if(before !== undefined, started =>
      started.where(sql<boolean>`(execution_started_at, id) <
        (${before?.executionStartedAt}, ${before?.id})`),
    )
    .orderBy('target_type')
    .orderBy('target_id')
    .orderBy('execution_started_at')
    .orderBy('id')
    .execute()
  return toFirstBudgets(rows)
}

/**
 * Pauses of the last 30 days that were not undone, the newest of each entity, with what they
 * stopped.
 */
export async function findRecentPauses(
  transaction: Transaction,
  day: AccountDay,
): Promise<RecentPause[]> {
  const rows = await selectStartedActions(transaction, {
    ...day,
    since: daysBefore(day, MONTH_DAYS),
  })
    .where('type', '=', 'pause')
    .where('status', 'not in', ['failed', 'rolled_back'])
    .distinctOn(['target_type', 'target_id'])
    .select([
      'target_type as type',
      'target_id as id',
      sql<number>`coalesce((policy_evidence ->> 'stopped_minor')::bigint, 0)`.as('stoppedMinor'),
    ])
    .orderBy('target_type')
    .orderBy('target_id')
    .orderBy('id', 'desc')
    .execute()
  return rows.map(({ type, id, stoppedMinor }) => {
    const target = { type, id } as EntityRef
    return { key: entityKey(target), stoppedMinor }
  })
}

/** The budgets that agents lowered in the last 30 days, as the first such change found each. */
export async function findRecentDecreases(
  transaction: Transaction,
  day: AccountDay,
): Promise<RecentDecrease[]> {
  const since = daysBefore(day, MONTH_DAYS)
  const decreases = selectStartedActions(transaction, { ...day, since })
    .where('type', '=', 'decrease_budget')
    .where('status', '<>', 'failed')
    .where(sql<boolean>`state_before ->> 'status' = 'active'`)
  const rows = await selectFirstBudgets(decreases).execute()
  return rows.flatMap(({ type, id, budget }) =>
    budget === null ? [] : [{ key: entityKey({ type, id } as EntityRef), beforeMinor: budget }],
  )
}

/** Longer than from reading the entities to the lock of the account. */
const UNSEEN_SECONDS = 60

/**
 * Changes that a reading of the platform may not show, oldest first: those that are being executed,
 * and those that ended while it was read.
 */
export async function findUnseenChanges(
  transaction: Transaction,
  day: AccountDay,
): Promise<RecentChange[]> {
  const since = daysBefore(day, 1)
  const ended = new Date(day.at.getTime() - UNSEEN_SECONDS * 1_000)
  const rows = await selectStartedActions(transaction, { ...day, since })
    .where(({ or, and, eb }) =>
      or([
        eb('status', 'in', ['executing', 'executed_pending_verification']),
        and([eb('status', '=', 'verified'), eb('finished_at', '>=', ended)]),
      ]),
    )
    .select(['type', 'target_type', 'target_id', 'params', 'status'])
    .orderBy(STARTED_AT)
    .orderBy('id')
    .execute()
  return rows.map(row => ({
    type: row.type as RecentChange['type'],
    target: { type: row.target_type, id: row.target_id } as EntityRef,
    // jsonb is parsed on reading.
    params: row.params as unknown as RecentChange['params'],
    isDone: row.status === 'verified',
  }))
}

interface StartedPeriod extends Pick<AccountDay, 'adAccountId' | 'before'> {
  since: Date
}

/** Executions and approved suggestions, which people make elsewhere. */
function selectStartedActions(
  { query }: Transaction,
  { adAccountId, before, since }: StartedPeriod,
) {
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
