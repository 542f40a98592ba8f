import type { Transaction } from '../../db/database.ts'
import { type Batch, batchOf } from '../proposals/batch-store.ts'

/** A batch with what a person wants to know of it. */
export interface QueuedRow {
  batch: Batch
  adAccountName: string
  currency: string
  /** The name of who answers for the credential. */
  responsible: string
}

/** Batches of a workspace with something to decide, those that expire first before the others. */
export async function findQueue(
  transaction: Transaction,
  workspaceId: number,
  { offset, limit }: { offset: number; limit: number },
): Promise<QueuedRow[]> {
  const rows = await selectQueued(transaction, workspaceId)
    .where(({ exists, selectFrom }) =>
      exists(
        selectFrom('agent_actions')
          .select('agent_actions.id')
          .whereRef('agent_actions.batch_id', '=', 'batch.id')
          .where('agent_actions.status', '=', 'pending'),
      ),
    )
    .orderBy('batch.expires_at')
    .orderBy('batch.id')
    .offset(offset)
    .limit(limit)
    .execute()
  return rows.map(queuedOf)
}

/** One batch, whether it waits or not; null when the workspace has no such batch. */
export async function findQueued(
  transaction: Transaction,
  { workspaceId, batchId }: { workspaceId: number; batchId: number },
): Promise<QueuedRow | null> {
  const row = await selectQueued(transaction, workspaceId)
    .where('batch.id', '=', batchId)
    .executeTakeFirst()
  return row ? queuedOf(row) : null
}

function selectQueued({ query }: Transaction, workspaceId: number) {
  return query
    .selectFrom('agent_batches as batch')
    .innerJoin('ad_accounts as account', 'account.id', 'batch.ad_account_id')
    .leftJoin('people.users as person', 'person.id', 'batch.person_id')
    .selectAll('batch')
    .select(['account.name as ad_account_name', 'account.currency', 'person.name as responsible'])
    .where('batch.workspace_id', '=', workspaceId)
}

type Row = Awaited<ReturnType<ReturnType<typeof selectQueued>['execute']>>[number]

function queuedOf(row: Row): QueuedRow {
  return {
    batch: batchOf(row),
    adAccountName: row.ad_account_name,
    currency: row.currency,
    responsible: row.responsible ?? 'somebody who is gone',
  }
}
