import type { PolicyDecision } from '@signalbox/contract/agents/actions.ts'
import type { EvidenceProvenance } from '@signalbox/contract/agents/proposals.ts'
import type { Selectable } from 'kysely'
import type { Transaction } from '../../db/database.ts'
import type { Tables } from '../../db/tables.ts'
import type { ActionProposer } from './action.ts'

/** One submission of an agent: what its actions have in common. */
export interface Batch extends NewBatch {
  id: number
}

export interface NewBatch {
  workspaceId: number
  adAccountId: number
  /** Of the workspace; a repeated one is the same batch. */
  idempotencyKey: string
  /** Of what was submitted, to tell the same from something else under the same key. */
  contentSha256: Buffer
  rationale: string
  provenance: EvidenceProvenance
  proposer: ActionProposer
  policyVersion: number
  /** The strictest of its actions. */
  policyDecision: PolicyDecision
  createdAt: Date
  /** Until then a person may decide. */
  expiresAt: Date
}

export interface BatchName {
  workspaceId: number
  batchId: number
}

export async function findBatch(
  { query }: Transaction,
  { workspaceId, batchId }: BatchName,
): Promise<Batch | null> {
  const row = await query
    .selectFrom('agent_batches')
    .selectAll()
    .where('workspace_id', '=', workspaceId)
    .where('id', '=', batchId)
    .executeTakeFirst()
  return row ? batchOf(row) : null
}

export async function findBatchByKey(
  { query }: Transaction,
  { workspaceId, idempotencyKey }: Pick<NewBatch, 'workspaceId' | 'idempotencyKey'>,
): Promise<Batch | null> {
  const row = await query
    .selectFrom('agent_batches')
    .selectAll()
    .where('workspace_id', '=', workspaceId)
    .where('idempotency_key', '=', idempotencyKey)
    .executeTakeFirst()
  return row ? batchOf(row) : null
}

/**
 * The id of the new batch. Null: its key was taken, perhaps at this moment by another transaction,
 * for whose end this one has waited then.
 */
export async function insertBatch({ query }: Transaction, batch: NewBatch): Promise<number | null> {
  const row = await query
    .insertInto('agent_batches')
    .values({
      workspace_id: batch.workspaceId,
      ad_account_id: batch.adAccountId,
      idempotency_key: batch.idempotencyKey,
      content_sha256: batch.contentSha256,
      rationale: batch.rationale,
      target_source: batch.provenance.target_source,
      evidence: JSON.stringify(batch.provenance.evidence),
      proposer_kind: batch.proposer.kind,
      proposer_id: batch.proposer.id,
      proposer_name: batch.proposer.name,
      person_id: batch.proposer.personId,
      policy_version: batch.policyVersion,
      policy_decision: batch.policyDecision,
      created_at: batch.createdAt,
      expires_at: batch.expiresAt,
    })
    .onConflict(conflict => conflict.columns(['workspace_id', 'idempotency_key']).doNothing())
    .returning('id')
    .executeTakeFirst()
  return row?.id ?? null
}

/** What the checks of the table allow is what the types say; jsonb comes as a value. */
export function batchOf(row: Selectable<Tables['agent_batches']>): Batch {
  return {
    id: row.id,
    workspaceId: row.workspace_id,
    adAccountId: row.ad_account_id,
    idempotencyKey: row.idempotency_key,
    contentSha256: row.content_sha256,
    rationale: row.rationale,
    provenance: {
      target_source: row.target_source as 'human_supplied',
      evidence: row.evidence as unknown as EvidenceProvenance['evidence'],
    },
    proposer: {
      kind: row.proposer_kind as ActionProposer['kind'],
      id: row.proposer_id,
      name: row.proposer_name,
      personId: row.person_id,
    },
    policyVersion: row.policy_version,
    policyDecision: row.policy_decision as PolicyDecision,
    createdAt: row.created_at,
    expiresAt: row.expires_at,
  }
}
