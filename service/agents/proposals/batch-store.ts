import type { PolicyDecision } from '@signalbox/contract/agents/actions.ts'
import type { EvidenceProvenance, TargetSource } from '@signalbox/contract/agents/evidence.ts'
import { type Selectable, sql } from 'kysely'
import type { Transaction } from '../../runtime/db/database.ts'
import type { Tables } from '../../runtime/db/tables.ts'
import type { Action, ActionProposer } from './action.ts'

/** One proposal: what its actions have in common. */
export interface Batch extends NewBatch {
  id: number
}

export interface NewBatch {
  workspaceId: number
  adAccountId: number
  /** As the caller sent it; unique for its principal and ad account. */
  idempotencyKey: string
  /** Digest of the submission; distinguishes a retry from another proposal with the same key. */
  contentSha256: Buffer
  rationale: string
  provenance: EvidenceProvenance
  proposer: ActionProposer
  policyVersion: number
  /** The strictest decision of its actions. */
  policyDecision: PolicyDecision
  /** All actions are executed, or none. */
  isAllOrNothing: boolean
  /** The action that a user proposes to undo; null for proposals of agents. */
  undoes: number | null
  createdAt: Date
  /** When the approval period ends. */
  expiresAt: Date
}

interface BatchRef {
  workspaceId: number
  batchId: number
}

export async function findBatch(
  { query }: Transaction,
  { workspaceId, batchId }: BatchRef,
): Promise<Batch | null> {
  const row = await query
    .selectFrom('agent_batches')
    .selectAll()
    .where('workspace_id', '=', workspaceId)
    .where('id', '=', batchId)
    .executeTakeFirst()
  return row ? toBatch(row) : null
}

/** The scope of an idempotency key, and the key. */
export type ProposalKey = Pick<NewBatch, 'proposer' | 'adAccountId' | 'idempotencyKey'>

export async function findBatchByKey(
  { query }: Transaction,
  { proposer, adAccountId, idempotencyKey }: ProposalKey,
): Promise<Batch | null> {
  const row = await query
    .selectFrom('agent_batches')
    .selectAll()
    .where('proposer_kind', '=', proposer.kind)
    .where('proposer_id', '=', proposer.id)
    .where('ad_account_id', '=', adAccountId)
    .where('proposal_key', '=', idempotencyKey)
    .executeTakeFirst()
  return row ? toBatch(row) : null
}

/** What earlier versions, which know keys per workspace only, read as the key. */
function formatScopedKey({ proposer, adAccountId, idempotencyKey }: ProposalKey): string {
  return `${proposer.kind}:${proposer.id}:${adAccountId}:${idempotencyKey}`
}

/**
 * Returns the ID of the new batch, or null if its idempotency key exists. Waits for a concurrent
 * transaction that is inserting the same key.
 */
export async function insertBatch({ query }: Transaction, batch: NewBatch): Promise<number | null> {
  const row = await query
    .insertInto('agent_batches')
    .values({
      workspace_id: batch.workspaceId,
      ad_account_id: batch.adAccountId,
      idempotency_key: formatScopedKey(batch),
      proposal_key: batch.idempotencyKey,
      content_sha256: batch.contentSha256,
      rationale: batch.rationale,
      target_source: batch.provenance.target_source,
      evidence: JSON.stringify(batch.provenance.evidence),
      proposer_kind: batch.proposer.kind,
      proposer_id: batch.proposer.id,
      proposer_name: batch.proposer.name,
      person_id: batch.proposer.userId,
      policy_version: batch.policyVersion,
      policy_decision: batch.policyDecision,
      all_or_nothing: batch.isAllOrNothing,
      undoes: batch.undoes,
      created_at: batch.createdAt,
      expires_at: batch.expiresAt,
    })
    .onConflict(conflict => conflict.doNothing())
    .returning('id')
    .executeTakeFirst()
  return row?.id ?? null
}

/** A proposal to undo an action, which has one action of its own. */
interface Undo {
  actionId: number
  batchId: number
  status: Action['status']
}

/** The proposals that undo these actions, the latest first. */
export async function findUndoes(
  { query }: Transaction,
  actionIds: readonly number[],
): Promise<Undo[]> {
  if (actionIds.length === 0) return []
  const rows = await query
    .selectFrom('agent_batches as batch')
    .innerJoin('agent_actions as action', 'action.batch_id', 'batch.id')
    .select(['batch.undoes', 'batch.id', 'action.status'])
    .where('batch.undoes', 'in', actionIds)
    .orderBy('batch.id', 'desc')
    .execute()
  return rows.map(({ undoes, id, status }) => ({
    actionId: undoes ?? 0,
    batchId: id,
    status: status as Action['status'],
  }))
}

/** Table constraints guarantee the union types; jsonb is parsed on reading. */
function toBatch(row: Selectable<Tables['agent_batches']>): Batch {
  return {
    id: row.id,
    workspaceId: row.workspace_id,
    adAccountId: row.ad_account_id,
    idempotencyKey: row.proposal_key,
    contentSha256: row.content_sha256,
    rationale: row.rationale,
    provenance: {
      target_source: row.target_source as TargetSource,
      evidence: toEvidence(row.evidence),
    },
    proposer: {
      kind: row.proposer_kind as ActionProposer['kind'],
      id: row.proposer_id,
      name: row.proposer_name,
      userId: row.person_id,
    },
    policyVersion: row.policy_version,
    policyDecision: row.policy_decision as PolicyDecision,
    isAllOrNothing: row.all_or_nothing,
    undoes: row.undoes,
    createdAt: row.created_at,
    expiresAt: row.expires_at,
  }
}

/** jsonb is parsed on reading. Earlier versions did not check the fields. */
function toEvidence(column: string): EvidenceProvenance['evidence'] {
  const stored = column as unknown as EvidenceProvenance['evidence']
  return stored.map(item => ({ ...item, fields: item.fields ?? item.fields_used.map(toUnchecked) }))
}

function toUnchecked(path: string) {
  return { path, is_found: null, value: null, answered_at: null }
}

/** A batch with names for display. */
export interface QueuedBatchRow {
  batch: Batch
  adAccountName: string
  currency: string
  /** IANA name. */
  timeZone: string
  /** Email of the user responsible for the credential. */
  responsible: string
}

/** Batches of a workspace with pending actions, those that expire first on top. */
export async function findQueuedBatches(
  transaction: Transaction,
  workspaceId: number,
  { offset, limit }: { offset: number; limit: number },
): Promise<QueuedBatchRow[]> {
  const rows = await selectQueuedBatches(transaction, workspaceId)
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
  return rows.map(toQueuedBatchRow)
}

/** Pages show "99+". */
const QUEUED_COUNT_MAX = 100

/**
 * How many batches of a workspace have pending actions, at most 100. The status is a literal,
 * because a plan for any parameter could not use the partial index.
 */
export async function countQueuedBatches(
  { query }: Pick<Transaction, 'query'>,
  workspaceId: number,
): Promise<number> {
  const rows = await query
    .selectFrom('agent_actions')
    .select('batch_id')
    .distinct()
    .where('workspace_id', '=', workspaceId)
    .where(sql<boolean>`status = 'pending'`)
    .limit(QUEUED_COUNT_MAX)
    .execute()
  return rows.length
}

/** One batch of the workspace in any status, or null. */
export async function findQueuedBatch(
  transaction: Transaction,
  { workspaceId, batchId }: { workspaceId: number; batchId: number },
): Promise<QueuedBatchRow | null> {
  const row = await selectQueuedBatches(transaction, workspaceId)
    .where('batch.id', '=', batchId)
    .executeTakeFirst()
  return row ? toQueuedBatchRow(row) : null
}

function selectQueuedBatches({ query }: Transaction, workspaceId: number) {
  return query
    .selectFrom('agent_batches as batch')
    .innerJoin('ad_accounts as account', 'account.id', 'batch.ad_account_id')
    .leftJoin('people.users as person', 'person.id', 'batch.person_id')
    .selectAll('batch')
    .select(['account.name as ad_account_name', 'account.currency', 'account.time_zone'])
    .select('person.email as responsible')
    .where('batch.workspace_id', '=', workspaceId)
}

type QueueSelection = Awaited<ReturnType<ReturnType<typeof selectQueuedBatches>['execute']>>[number]

function toQueuedBatchRow(row: QueueSelection): QueuedBatchRow {
  return {
    batch: toBatch(row),
    adAccountName: row.ad_account_name,
    currency: row.currency,
    timeZone: row.time_zone,
    responsible: row.responsible ?? 'a former user',
  }
}
