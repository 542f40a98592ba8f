import { ACTION_TYPES } from '@signalbox/contract/agents/actions.ts'
import type {
  ActionPolicy,
  ExecutionMode,
  PolicyLimits,
} from '@signalbox/contract/agents/policy.ts'
import type { Updateable } from 'kysely'
import type { Transaction } from '../../runtime/db/database.ts'
import type { Tables } from '../../runtime/db/tables.ts'
import { defaultCurrencyLimits, defaultTotals } from './default-limits.ts'
import { NO_AMOUNT_LIMITS } from './money-limits.ts'

/** The initial policy of every workspace: agents suggest, people act. */
export const DEFAULT_POLICY: ActionPolicy = {
  version: 0,
  execution_mode: 'suggest_only',
  limits: {
    change_percent_max: 20,
    change_minor_max: 5_000,
    daily_total_minor_max: 20_000,
    actions_per_day_max: 10,
    allowed_types: [...ACTION_TYPES],
    quiet_hours: null,
    ...defaultTotals('EUR'),
    entity_budget_minor_max: null,
    account_budget_minor_max: null,
    entity_budget_times_max: 5,
    active_spend_percent_max: 50,
    currency_limits: [],
  },
  changed_at: null,
}

/** A policy that permits more than the valid one, and becomes valid later. */
export interface PendingPolicy extends Pick<ActionPolicy, 'version' | 'execution_mode' | 'limits'> {
  validFrom: Date
  changedBy: number
  changedAt: Date
}

export interface PolicyState {
  policy: ActionPolicy
  pending: PendingPolicy | null
}

/** The policy that is valid at a time. */
export async function readPolicy(
  transaction: Transaction,
  workspaceId: number,
  at: Date,
): Promise<ActionPolicy> {
  const { policy } = await readPolicyState(transaction, workspaceId, at)
  return policy
}

/** The policy that is valid at a time, and the looser one that waits, if any. */
export async function readPolicyState(
  transaction: Transaction,
  workspaceId: number,
  at: Date,
): Promise<PolicyState> {
  const base = await readBasePolicy(transaction, workspaceId)
  const row = await findLaterVersion(transaction, workspaceId, base.version)
  if (!row) return { policy: base, pending: null }
  const content = { version: row.version, ...toContent(row) }
  if (row.valid_from <= at) {
    return { policy: { ...content, changed_at: row.valid_from.toISOString() }, pending: null }
  }
  const { changed_by: changedBy, changed_at: changedAt, valid_from: validFrom } = row
  return { policy: base, pending: { ...content, validFrom, changedBy, changedAt } }
}

/**
 * Reads the policy and locks it until the transaction ends, so that no decision in the audit log
 * uses a policy that an earlier entry has replaced.
 */
export async function lockPolicy(
  transaction: Transaction,
  workspaceId: number,
  at: Date,
): Promise<ActionPolicy> {
  await lockPolicyForRead(transaction, workspaceId)
  return readPolicy(transaction, workspaceId, at)
}

/** The last policy that was valid when it was stored: the default one if there is none. */
export async function readBasePolicy(
  { query }: Transaction,
  workspaceId: number,
): Promise<ActionPolicy> {
  const row = await query
    .selectFrom('agent_policies')
    .selectAll()
    .where('workspace_id', '=', workspaceId)
    .executeTakeFirst()
  if (!row) return readDefaultPolicy({ query }, workspaceId)
  return { version: row.version, ...toContent(row), changed_at: row.changed_at.toISOString() }
}

/** jsonb is parsed on reading; the table types describe the text that is written. */
function toContent(row: { execution_mode: string; limits: string }) {
  const stored = row.limits as unknown as PolicyLimits
  return {
    execution_mode: row.execution_mode as ExecutionMode,
    limits: {
      ...EARLIER_LIMITS,
      ...stored,
      currency_limits: (stored.currency_limits ?? []).map(own => ({ ...NO_AMOUNT_LIMITS, ...own })),
    },
  }
}

/** Policies that were saved before these limits existed have none of them. */
const EARLIER_LIMITS = {
  ...NO_AMOUNT_LIMITS,
  entity_budget_times_max: null,
  active_spend_percent_max: null,
} as const satisfies Partial<PolicyLimits>

/** The default policy, with round amounts in the currencies of the workspace. */
async function readDefaultPolicy(
  { query }: Transaction,
  workspaceId: number,
): Promise<ActionPolicy> {
  const rows = await query
    .selectFrom('ad_accounts')
    .distinct()
    .select('currency')
    .where('workspace_id', '=', workspaceId)
    .orderBy('currency')
    .execute()
  const own = rows.flatMap(({ currency }) => defaultCurrencyLimits(currency) ?? [])
  const { limits } = DEFAULT_POLICY
  return { ...DEFAULT_POLICY, limits: { ...limits, currency_limits: own } }
}

/** The version that follows the base: it waits, or has become valid. */
function findLaterVersion({ query }: Transaction, workspaceId: number, baseVersion: number) {
  return query
    .selectFrom('agent_policy_versions')
    .selectAll()
    .where('workspace_id', '=', workspaceId)
    .where('base_version', '=', baseVersion)
    .where('version', '>', baseVersion)
    .where('canceled_at', 'is', null)
    .orderBy('version', 'desc')
    .limit(1)
    .executeTakeFirst()
}

/** The number of the next version. An earlier version of the service counts the base only. */
export async function nextPolicyVersion(
  { query }: Transaction,
  workspaceId: number,
  baseVersion: number,
): Promise<number> {
  const { last } = await query
    .selectFrom('agent_policy_versions')
    .select(({ fn }) => fn.max('version').as('last'))
    .where('workspace_id', '=', workspaceId)
    .executeTakeFirstOrThrow()
  return Math.max(baseVersion, last ?? 0) + 1
}

interface PolicyChange extends Pick<ActionPolicy, 'version' | 'execution_mode' | 'limits'> {
  workspaceId: number
  changedBy: number
  changedAt: Date
}

/** Stores a policy that is valid at once. The caller must have locked it. */
export async function savePolicy(transaction: Transaction, change: PolicyChange): Promise<void> {
  const { query } = transaction
  await query
    .insertInto('agent_policies')
    .values({
      workspace_id: change.workspaceId,
      version: change.version,
      execution_mode: change.execution_mode,
      limits: JSON.stringify(change.limits),
      changed_by: change.changedBy,
      changed_at: change.changedAt,
    })
    .onConflict(conflict =>
      conflict.column('workspace_id').doUpdateSet(({ ref }) => ({
        version: ref('excluded.version'),
        execution_mode: ref('excluded.execution_mode'),
        limits: ref('excluded.limits'),
        changed_by: ref('excluded.changed_by'),
        changed_at: ref('excluded.changed_at'),
      })),
    )
    .execute()
  const { version: baseVersion, changedAt: validFrom } = change
  await insertPolicyVersion(transaction, { ...change, baseVersion, validFrom })
}

interface PolicyVersion extends PolicyChange {
  /** Equal to the version for a policy that is valid at once. */
  baseVersion: number
  validFrom: Date
}

/** A confirmed version is stored already. */
export async function insertPolicyVersion(
  { query }: Transaction,
  { workspaceId, version, ...change }: PolicyVersion,
): Promise<void> {
  await query
    .insertInto('agent_policy_versions')
    .values({
      workspace_id: workspaceId,
      version,
      base_version: change.baseVersion,
      execution_mode: change.execution_mode,
      limits: JSON.stringify(change.limits),
      valid_from: change.validFrom,
      changed_by: change.changedBy,
      changed_at: change.changedAt,
    })
    .onConflict(conflict => conflict.doNothing())
    .execute()
}

interface PendingEnd {
  workspaceId: number
  version: number
  /** Null if it ended with the role of the person who saved it. */
  userId: number | null
  at: Date
}

/** Records who confirmed a pending version; the caller stores its policy as valid. */
export function recordPolicyConfirmation(transaction: Transaction, end: PendingEnd): Promise<void> {
  const { userId: confirmed_by, at } = end
  return endPending(transaction, end, { confirmed_by, confirmed_at: at, valid_from: at })
}

/** A canceled version never becomes valid. */
export function recordPolicyCancellation(transaction: Transaction, end: PendingEnd): Promise<void> {
  const { userId: canceled_by, at: canceled_at } = end
  return endPending(transaction, end, { canceled_by, canceled_at })
}

async function endPending(
  { query }: Transaction,
  { workspaceId, version }: PendingEnd,
  values: Updateable<Tables['agent_policy_versions']>,
): Promise<void> {
  await query
    .updateTable('agent_policy_versions')
    .set(values)
    .where('workspace_id', '=', workspaceId)
    .where('version', '=', version)
    .execute()
}

/**
 * A shared lock on the policy until the transaction ends. Locks the workspace row, because a
 * default policy has no row.
 */
async function lockPolicyForRead({ query }: Transaction, workspaceId: number): Promise<void> {
  await query
    .selectFrom('workspaces')
    .select('id')
    .where('id', '=', workspaceId)
    .forShare()
    .executeTakeFirstOrThrow()
}

/** Waits for concurrent decisions, and blocks new ones until the transaction ends. */
export async function lockPolicyForChange(
  { query }: Transaction,
  workspaceId: number,
): Promise<void> {
  await query
    .selectFrom('workspaces')
    .select('id')
    .where('id', '=', workspaceId)
    .forNoKeyUpdate()
    .executeTakeFirstOrThrow()
}
