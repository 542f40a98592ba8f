import type { Selectable } from 'kysely'
import type { Transaction } from '../../runtime/db/database.ts'
import type { Tables } from '../../runtime/db/tables.ts'
import type { Action, NewAction } from './action.ts'

export async function findAction(
  transaction: Transaction,
  { workspaceId, actionId }: { workspaceId: number; actionId: number },
): Promise<Action | null> {
  const row = await selectActions(transaction)
    .where('agent_actions.workspace_id', '=', workspaceId)
    .where('agent_actions.id', '=', actionId)
    .executeTakeFirst()
  return row ? toAction(row) : null
}

/** Throws if there is no such action. */
export async function getAction(transaction: Transaction, actionId: number): Promise<Action> {
  const row = await selectActions(transaction)
    .where('agent_actions.id', '=', actionId)
    .executeTakeFirst()
  if (row) return toAction(row)
  throw new Error(`there is no action ${actionId}`)
}

/** The actions of one batch, ordered by position. */
export async function findActionsOfBatch(
  transaction: Transaction,
  batchId: number,
): Promise<Action[]> {
  const rows = await selectActions(transaction)
    .where('agent_actions.batch_id', '=', batchId)
    .orderBy('agent_actions.position')
    .execute()
  return rows.map(toAction)
}

/** By ID: the actions of an all-or-nothing batch are stored in the order of their execution. */
export function orderForExecution(actions: readonly Action[]): Action[] {
  return actions.toSorted((one, other) => one.id - other.id)
}

export interface ActionPageQuery {
  workspaceId: number
  /** Null for every ad account of the workspace. */
  adAccountId: number | null
  /** Null for every status. */
  status: Action['status'] | null
  type: Action['type'] | null
  /** Null for every entity. */
  entityId: string | null
  offset: number
  limit: number
}

/** A page of actions of a workspace, newest first. */
export async function findActionsPage(
  transaction: Transaction,
  { workspaceId, adAccountId, status, type, entityId, offset, limit }: ActionPageQuery,
): Promise<Action[]> {
  const rows = await selectActions(transaction)
    .where('agent_actions.workspace_id', '=', workspaceId)
    .$if(adAccountId !== null, query =>
      query.where('agent_actions.ad_account_id', '=', adAccountId),
    )
    .$if(status !== null, query => query.where('agent_actions.status', '=', status))
    .$if(type !== null, query => query.where('agent_actions.type', '=', type))
    .$if(entityId !== null, query => query.where('agent_actions.target_id', '=', entityId))
    .orderBy('agent_actions.id', 'desc')
    .offset(offset)
    .limit(limit)
    .execute()
  return rows.map(toAction)
}

/**
 * Locks actions until the transaction ends. Lock them before the first append to the audit log.
 */
export async function lockActions(
  transaction: Transaction,
  actionIds: readonly number[],
): Promise<Action[]> {
  if (actionIds.length === 0) return []
  const rows = await selectActions(transaction)
    .where('agent_actions.id', 'in', actionIds)
    .orderBy('agent_actions.id')
    .forUpdate('agent_actions')
    .execute()
  return rows.map(toAction)
}

/** Selects actions with their batch; the caller adds conditions. */
export function selectActions({ query }: Transaction) {
  return query
    .selectFrom('agent_actions')
    .innerJoin('agent_batches', 'agent_batches.id', 'agent_actions.batch_id')
    .selectAll('agent_actions')
    .select([
      'agent_batches.proposer_kind',
      'agent_batches.proposer_id',
      'agent_batches.proposer_name',
      'agent_batches.person_id',
      'agent_batches.expires_at',
      'agent_batches.all_or_nothing',
    ])
}

/** Stores a new action and returns its ID. Only `createAction` calls it. */
export async function insertAction(
  { query }: Transaction,
  batchId: number,
  action: NewAction,
): Promise<number> {
  const { id } = await query
    .insertInto('agent_actions')
    .values({
      batch_id: batchId,
      position: action.position,
      workspace_id: action.workspaceId,
      ad_account_id: action.adAccountId,
      type: action.type,
      target_type: action.target.type,
      target_id: action.target.id,
      target_name: action.target.name,
      params: JSON.stringify(action.params),
      rationale: action.rationale,
      status: action.status,
      policy_decision: action.policyDecision,
      policy_reasons: JSON.stringify(action.policyReasons),
      policy_evidence: JSON.stringify(action.policyEvidence),
      state_before: action.before && JSON.stringify(action.before),
      state_proposed: action.proposed && JSON.stringify(action.proposed),
      change_minor: action.changeMinor,
      execution_started_at: action.executionStartedAt,
      finished_at: action.status === 'blocked' ? action.createdAt : null,
      created_at: action.createdAt,
      updated_at: action.createdAt,
    })
    .returning('id')
    .executeTakeFirstOrThrow()
  return id
}

/** Updates an action if it still has the status `from`; false otherwise. */
export async function updateAction(
  { query }: Transaction,
  action: Action,
  from: Action['status'],
): Promise<boolean> {
  const found = await query
    .updateTable('agent_actions')
    .set({
      status: action.status,
      outcome: action.outcome,
      state_after: action.after && JSON.stringify(action.after),
      decided_by: action.decidedBy,
      decided_at: action.decidedAt,
      decision_reason: action.decisionReason,
      decision_context: action.decisionContext && JSON.stringify(action.decisionContext),
      execution_started_at: action.executionStartedAt,
      executed_at: action.executedAt,
      finished_at: action.finishedAt,
      updated_at: action.updatedAt,
    })
    .where('id', '=', action.id)
    .where('status', '=', from)
    .returning('id')
    .executeTakeFirst()
  return found !== undefined
}

/**
 * Records that the change of a locked action is sent, for the first time or again, and renews its
 * lease. The policy and the time of the first request stay.
 */
export async function recordChangeRequest(
  { query }: Transaction,
  action: Action,
  { policyVersion, at }: { policyVersion: number; at: Date },
): Promise<Action> {
  const first = action.changeRequest ?? { requestedAt: at, policyVersion, attempts: 0 }
  const changeRequest = { ...first, attempts: first.attempts + 1 }
  await query
    .updateTable('agent_actions')
    .set({
      change_requested_at: changeRequest.requestedAt,
      change_policy_version: changeRequest.policyVersion,
      change_attempts: changeRequest.attempts,
      updated_at: at,
    })
    .where('id', '=', action.id)
    .execute()
  return { ...action, changeRequest, updatedAt: at }
}

/** Records that the previous state of a locked action is restored, and renews its lease. */
export async function recordRollbackRequest(
  { query }: Transaction,
  action: Action,
  at: Date,
): Promise<Action> {
  await query
    .updateTable('agent_actions')
    .set({ rollback_requested_at: at, updated_at: at })
    .where('id', '=', action.id)
    .execute()
  return { ...action, rollbackRequestedAt: at, updatedAt: at }
}

type ActionRow = Selectable<Tables['agent_actions']> &
  Pick<
    Selectable<Tables['agent_batches']>,
    | 'proposer_kind'
    | 'proposer_id'
    | 'proposer_name'
    | 'person_id'
    | 'expires_at'
    | 'all_or_nothing'
  >

/** Maps a row of `selectActions`. Table constraints guarantee the union types. */
export function toAction(row: ActionRow): Action {
  return {
    id: row.id,
    batchId: row.batch_id,
    position: row.position,
    workspaceId: row.workspace_id,
    adAccountId: row.ad_account_id,
    type: row.type as Action['type'],
    target: {
      type: row.target_type as Action['target']['type'],
      id: row.target_id,
      name: row.target_name,
    },
    params: parseJsonColumn(row.params) as Action['params'],
    rationale: row.rationale,
    status: row.status as Action['status'],
    outcome: row.outcome as Action['outcome'],
    policyDecision: row.policy_decision as Action['policyDecision'],
    policyReasons: parseJsonColumn(row.policy_reasons) as Action['policyReasons'],
    policyEvidence: toPolicyEvidence(row),
    before: parseJsonColumn(row.state_before) as Action['before'],
    proposed: parseJsonColumn(row.state_proposed) as Action['proposed'],
    after: parseJsonColumn(row.state_after) as Action['after'],
    changeMinor: row.change_minor,
    decidedBy: row.decided_by,
    decidedAt: row.decided_at,
    decisionReason: row.decision_reason,
    decisionContext: parseJsonColumn(row.decision_context) as Action['decisionContext'],
    executionStartedAt: row.execution_started_at,
    executedAt: row.executed_at,
    finishedAt: row.finished_at,
    changeRequest: toChangeRequest(row),
    rollbackRequestedAt: row.rollback_requested_at,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    proposer: {
      kind: row.proposer_kind as Action['proposer']['kind'],
      id: row.proposer_id,
      name: row.proposer_name,
      userId: row.person_id,
    },
    isAllOrNothing: row.all_or_nothing,
    expiresAt: row.expires_at,
  }
}

/** Earlier versions did not store these amounts. */
function toPolicyEvidence({ policy_evidence }: ActionRow): Action['policyEvidence'] {
  const stored = parseJsonColumn(policy_evidence) as Action['policyEvidence']
  return { ...EARLIER_EVIDENCE, ...stored }
}

const EARLIER_EVIDENCE = {
  day_start_budget_minor: null,
  set_in_motion_minor: null,
  changed_week_minor: 0,
  changed_month_minor: 0,
  stopped_minor: 0,
} as const

function toChangeRequest({
  change_requested_at: requestedAt,
  change_policy_version: policyVersion,
  change_attempts: attempts,
}: ActionRow): Action['changeRequest'] {
  if (requestedAt === null || policyVersion === null) return null
  return { requestedAt, policyVersion, attempts }
}

/** jsonb is parsed on reading; the table types describe the text that is written. */
function parseJsonColumn(column: string | null): unknown {
  return column
}
