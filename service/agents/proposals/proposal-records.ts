import { hash } from 'node:crypto'
import { canonicalJson } from '@signalbox/contract/canonical-json.ts'
import { isObject } from '../../runtime/util/is-object.ts'
import type { NewAction } from './action.ts'
import type { NewBatch } from './batch-store.ts'
import type { ActionRow, BatchRow } from './record-store.ts'

/**
 * The digest of what a new action stores and nothing may change later. Its first audit entry
 * contains it, so that `audit verify` detects a changed row, also while the action is pending.
 */
export function digestAction(batchId: number, action: NewAction): string {
  return digest({
    batch_id: batchId,
    position: action.position,
    workspace_id: action.workspaceId,
    ad_account_id: action.adAccountId,
    type: action.type,
    target_type: action.target.type,
    target_id: action.target.id,
    target_name: action.target.name,
    params: action.params,
    rationale: action.rationale,
    policy_decision: action.policyDecision,
    policy_reasons: action.policyReasons,
    policy_evidence: action.policyEvidence,
    state_before: action.before,
    state_proposed: action.proposed,
    change_minor: action.changeMinor,
    created_at: action.createdAt,
  })
}

/** The same digest of a stored row. */
export function digestActionRow(row: ActionRow): string {
  return digest({
    batch_id: row.batch_id,
    position: row.position,
    workspace_id: row.workspace_id,
    ad_account_id: row.ad_account_id,
    type: row.type,
    target_type: row.target_type,
    target_id: row.target_id,
    target_name: row.target_name,
    params: row.params,
    rationale: row.rationale,
    policy_decision: row.policy_decision,
    policy_reasons: row.policy_reasons,
    policy_evidence: row.policy_evidence,
    state_before: row.state_before,
    state_proposed: row.state_proposed,
    change_minor: row.change_minor,
    created_at: row.created_at,
  })
}

/**
 * The digest of a new batch, without its actions. Its audit entry contains it. A member that
 * earlier versions do not have is left out where it has its default: their digests stay valid.
 */
export function digestBatch(batch: NewBatch): string {
  return digest({
    workspace_id: batch.workspaceId,
    ad_account_id: batch.adAccountId,
    proposal_key: batch.idempotencyKey,
    content_sha256: batch.contentSha256.toString('hex'),
    rationale: batch.rationale,
    target_source: batch.provenance.target_source,
    evidence: batch.provenance.evidence,
    proposer_kind: batch.proposer.kind,
    proposer_id: batch.proposer.id,
    proposer_name: batch.proposer.name,
    person_id: batch.proposer.userId,
    policy_version: batch.policyVersion,
    policy_decision: batch.policyDecision,
    ...(batch.isAllOrNothing && { all_or_nothing: true }),
    ...(batch.undoes !== null && { undoes: batch.undoes }),
    created_at: batch.createdAt,
    expires_at: batch.expiresAt,
  })
}

/** The same digest of a stored row. */
export function digestBatchRow(row: BatchRow): string {
  return digest({
    workspace_id: row.workspace_id,
    ad_account_id: row.ad_account_id,
    proposal_key: row.proposal_key,
    content_sha256: row.content_sha256.toString('hex'),
    rationale: row.rationale,
    target_source: row.target_source,
    evidence: row.evidence,
    proposer_kind: row.proposer_kind,
    proposer_id: row.proposer_id,
    proposer_name: row.proposer_name,
    person_id: row.person_id,
    policy_version: row.policy_version,
    policy_decision: row.policy_decision,
    ...(row.all_or_nothing && { all_or_nothing: true }),
    ...(row.undoes !== null && { undoes: row.undoes }),
    created_at: row.created_at,
    expires_at: row.expires_at,
  })
}

/** Leaves out undefined members and writes times as text, as the columns do. */
function digest(record: object): string {
  return hash('sha256', canonicalJson(JSON.parse(JSON.stringify(record))), 'hex')
}

/**
 * The path of the first member that differs, or null. Receipts and entries of earlier versions have
 * fewer members, so a member that only the current document has must be null or empty.
 */
export function findDifference(stored: unknown, current: unknown): string | null {
  if (isObject(stored) && isObject(current)) {
    const names = new Set([...Object.keys(stored), ...Object.keys(current)])
    for (const name of names) {
      if (stored[name] === undefined && isEmpty(current[name])) continue
      const path = findDifference(stored[name] ?? null, current[name] ?? null)
      if (path !== null) return path === '' ? name : `${name}.${path}`
    }
    return null
  }
  return canonicalJson(stored) === canonicalJson(current) ? null : ''
}

function isEmpty(value: unknown): boolean {
  return value === undefined || value === null || (Array.isArray(value) && value.length === 0)
}
