import { hash } from 'node:crypto'
import { canonicalJson } from '@signalbox/contract/canonical-json.ts'
import { isObject } from '../../runtime/util/is-object.ts'
import type { NewAction } from './action.ts'
import type { NewBatch } from './batch-store.ts'
import type { ActionRow, BatchRow } from './record-store.ts'

/** What a new action stores and nothing may change later. */
const ACTION_COLUMNS = [
  'batch_id',
  'position',
  'workspace_id',
  'ad_account_id',
  'type',
  'target_type',
  'target_id',
  'target_name',
  'params',
  'rationale',
  'policy_decision',
  'policy_reasons',
  'policy_evidence',
  'state_before',
  'state_proposed',
  'change_minor',
  'created_at',
] as const satisfies (keyof ActionRow)[]

/**
 * The digest of these columns of a new action. Its first audit entry contains it, so that `audit
 * verify` detects a changed row, also while the action is pending.
 */
export function digestAction(batchId: number, action: NewAction): string {
  const columns: Record<(typeof ACTION_COLUMNS)[number], unknown> = {
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
  }
  return digest(columns)
}

/** The same digest of a stored row. */
export function digestActionRow(row: ActionRow): string {
  return digest(pick(row, ACTION_COLUMNS))
}

/** What a new batch stores, without its actions, and nothing may change later. */
const BATCH_COLUMNS = [
  'workspace_id',
  'ad_account_id',
  'proposal_key',
  'content_sha256',
  'rationale',
  'target_source',
  'evidence',
  'proposer_kind',
  'proposer_id',
  'proposer_name',
  'person_id',
  'policy_version',
  'policy_decision',
  'all_or_nothing',
  'undoes',
  'created_at',
  'expires_at',
] as const satisfies (keyof BatchRow)[]

/** JSON columns are parsed. */
type BatchColumns = Omit<Pick<BatchRow, (typeof BATCH_COLUMNS)[number]>, 'evidence'> & {
  evidence: unknown
}

/** The digest of these columns of a new batch. Its audit entry contains it. */
export function digestBatch(batch: NewBatch): string {
  return digestBatchColumns({
    workspace_id: batch.workspaceId,
    ad_account_id: batch.adAccountId,
    proposal_key: batch.idempotencyKey,
    content_sha256: batch.contentSha256,
    rationale: batch.rationale,
    target_source: batch.provenance.target_source,
    evidence: batch.provenance.evidence,
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
}

/** The same digest of a stored row. */
export function digestBatchRow(row: BatchRow): string {
  return digestBatchColumns(pick(row, BATCH_COLUMNS))
}

/**
 * A member that earlier versions do not have is left out where it has its default: their digests
 * stay valid.
 */
function digestBatchColumns({
  content_sha256,
  all_or_nothing,
  undoes,
  ...columns
}: BatchColumns): string {
  return digest({
    ...columns,
    content_sha256: content_sha256.toString('hex'),
    ...(all_or_nothing && { all_or_nothing: true }),
    ...(undoes !== null && { undoes }),
  })
}

function pick<Row, Name extends keyof Row>(row: Row, names: readonly Name[]): Pick<Row, Name> {
  return Object.fromEntries(names.map(name => [name, row[name]])) as Pick<Row, Name>
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
