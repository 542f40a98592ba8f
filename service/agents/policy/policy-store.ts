import { ACTION_TYPES } from '@signalbox/contract/agents/actions.ts'
import type {
  ActionPolicy,
  ExecutionMode,
  PolicyLimits,
} from '@signalbox/contract/agents/policy.ts'
import type { Transaction } from '../../runtime/db/database.ts'

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
    currency_limits: [],
  },
  changed_at: null,
}

export async function readPolicy(
  transaction: Transaction,
  workspaceId: number,
): Promise<ActionPolicy> {
  return (await findPolicy(transaction, workspaceId)) ?? DEFAULT_POLICY
}

/**
 * Reads the policy and locks it until the transaction ends, so that no decision in the audit log
 * uses a policy that an earlier entry has replaced.
 */
export async function lockPolicy(
  transaction: Transaction,
  workspaceId: number,
): Promise<ActionPolicy> {
  await lockPolicyForRead(transaction, workspaceId)
  return readPolicy(transaction, workspaceId)
}

/** Null if the workspace still has the default policy. */
async function findPolicy(
  { query }: Transaction,
  workspaceId: number,
): Promise<ActionPolicy | null> {
  const row = await query
    .selectFrom('agent_policies')
    .selectAll()
    .where('workspace_id', '=', workspaceId)
    .executeTakeFirst()
  if (!row) return null
  return {
    version: row.version,
    execution_mode: row.execution_mode as ExecutionMode,
    // jsonb is parsed on reading; the table types describe the text that is written.
    // Earlier versions stored no limits of a currency.
    limits: {
      currency_limits: [],
      ...(row.limits as unknown as Omit<PolicyLimits, 'currency_limits'>),
    },
    changed_at: row.changed_at.toISOString(),
  }
}

interface PolicyChange extends Pick<ActionPolicy, 'version' | 'execution_mode' | 'limits'> {
  workspaceId: number
  changedBy: number
  changedAt: Date
}

/** The caller must have locked the policy (`lockPolicyForChange`). */
export async function savePolicy({ query }: Transaction, change: PolicyChange): Promise<void> {
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
