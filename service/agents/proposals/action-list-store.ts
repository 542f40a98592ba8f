import type { Transaction } from '../../runtime/db/database.ts'
import type { Action } from './action.ts'
import { selectActions, toAction } from './action-store.ts'

/** Pending actions whose approval period has ended, oldest first. */
export async function findExpiredActions(
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

/** Whether an action of the batch still waits for a decision. */
export async function hasPendingActions({ query }: Transaction, batchId: number): Promise<boolean> {
  const row = await query
    .selectFrom('agent_actions')
    .select('id')
    .where('batch_id', '=', batchId)
    .where('status', '=', 'pending')
    .limit(1)
    .executeTakeFirst()
  return row !== undefined
}

export interface UnfinishedAction {
  id: number
  batchId: number
  isAllOrNothing: boolean
}

/** Actions whose execution was interrupted and last updated before `before`, oldest first. */
export async function findUnfinishedActions(
  { query }: Transaction,
  before: Date,
  countMax: number,
): Promise<UnfinishedAction[]> {
  return query
    .selectFrom('agent_actions as action')
    .innerJoin('agent_batches as batch', 'batch.id', 'action.batch_id')
    .select(['action.id', 'action.batch_id as batchId', 'batch.all_or_nothing as isAllOrNothing'])
    .where('action.status', 'in', ['executing', 'executed_pending_verification'])
    .where('action.updated_at', '<=', before)
    .orderBy('action.updated_at')
    .orderBy('action.id')
    .limit(countMax)
    .execute()
}

/** A pending action, for the approver of another one. */
export interface PendingAction {
  id: number
  batchId: number
  type: Action['type']
  target: Action['target']
  changeMinor: number
  createdAt: Date
}

const OTHER_ACTIONS_MAX = 100

/** Pending actions for the same entities as these actions, which all have one ad account. */
export async function findOtherPendingActions(
  { query }: Transaction,
  actions: readonly Action[],
): Promise<PendingAction[]> {
  const [first] = actions
  if (!first) return []
  const rows = await query
    .selectFrom('agent_actions')
    .select(['id', 'batch_id', 'type', 'target_type', 'target_id', 'target_name'])
    .select(['change_minor', 'created_at'])
    .where('ad_account_id', '=', first.adAccountId)
    .where('status', '=', 'pending')
    .where(
      'id',
      'not in',
      actions.map(({ id }) => id),
    )
    .where(({ or, eb }) =>
      or(
        actions.map(({ target }) =>
          eb('target_id', '=', target.id).and('target_type', '=', target.type),
        ),
      ),
    )
    .orderBy('id')
    .limit(OTHER_ACTIONS_MAX)
    .execute()
  return rows.map(row => ({
    id: row.id,
    batchId: row.batch_id,
    type: row.type as Action['type'],
    target: {
      type: row.target_type as Action['target']['type'],
      id: row.target_id,
      name: row.target_name,
    },
    changeMinor: row.change_minor,
    createdAt: row.created_at,
  }))
}

/** Counts the actions of an ad account that a user can still approve at `at`. */
export async function countOpenApprovals(
  { query }: Transaction,
  { workspaceId, adAccountId }: { workspaceId: number; adAccountId: number },
  at: Date,
): Promise<number> {
  const { count } = await query
    .selectFrom('agent_actions as action')
    .innerJoin('agent_batches as batch', 'batch.id', 'action.batch_id')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('action.workspace_id', '=', workspaceId)
    .where('action.ad_account_id', '=', adAccountId)
    .where('action.status', '=', 'pending')
    .where('batch.expires_at', '>', at)
    .executeTakeFirstOrThrow()
  return count
}

/**
 * Counts pending actions of one ad account, or of all. Unlike `countOpenApprovals`, includes those
 * whose approval period has ended until a job expires them.
 */
export async function countPending({ query }: Transaction, adAccountId?: number): Promise<number> {
  const pending = query.selectFrom('agent_actions').where('status', '=', 'pending')
  const { count } = await (adAccountId === undefined
    ? pending
    : pending.where('ad_account_id', '=', adAccountId)
  )
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow()
  return count
}

interface DecidedPageQuery {
  workspaceId: number
  /** Only actions with a lower ID; null for the newest. */
  before: number | null
  limit: number
}

/** A page of the actions that wait for no decision, newest first, with their currency. */
export async function findDecidedActions(
  transaction: Transaction,
  { workspaceId, before, limit }: DecidedPageQuery,
): Promise<{ action: Action; currency: string }[]> {
  const rows = await selectActions(transaction)
    .innerJoin('ad_accounts', 'ad_accounts.id', 'agent_actions.ad_account_id')
    .select('ad_accounts.currency')
    .where('agent_actions.workspace_id', '=', workspaceId)
    .where('agent_actions.status', '<>', 'pending')
    .$if(before !== null, query => query.where('agent_actions.id', '<', before))
    .orderBy('agent_actions.id', 'desc')
    .limit(limit)
    .execute()
  return rows.map(row => ({ action: toAction(row), currency: row.currency }))
}
