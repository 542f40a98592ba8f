import type { VerifyRecords } from '../../audit/verify-chain.ts'
import type { Transaction } from '../../runtime/db/database.ts'
import { parseJsonObject } from '../../runtime/util/is-object.ts'
import { readBasePolicy } from '../policy/policy-store.ts'
import { isFinal } from './action.ts'
import { digestActionRow, digestBatchRow, findDifference } from './proposal-records.ts'
import { buildReceiptDocument } from './receipt-store.ts'
import {
  findEntryWithoutRecord,
  findLastPolicyEntry,
  type RecordEntry,
  type RecordPage,
  type RecordType,
  readActionRecords,
  readBatchRecords,
  type StoredAction,
  type StoredBatch,
} from './record-store.ts'

type Finding = Awaited<ReturnType<VerifyRecords>>

/**
 * Compares the tables of proposals, actions and the policy with the log, whose chain is intact: a
 * forged decision, status or rationale in a table does not break the chain. Reports the first
 * difference in one sentence.
 */
export const verifyProposalRecords: VerifyRecords = async (snapshot, { workspaceId, last }) => {
  // A row that the log should name, but does not.
  const missingEntry = last.sequence + 1
  const findings: (() => Promise<Finding>)[] = [
    () => scan(snapshot, workspaceId, readBatchRecords, batch => checkBatch(batch, missingEntry)),
    () => scan(snapshot, workspaceId, readActionRecords, each => checkAction(each, missingEntry)),
    () => findMissingRecord(snapshot, workspaceId, 'batch'),
    () => findMissingRecord(snapshot, workspaceId, 'action'),
    () => checkPolicy(snapshot, workspaceId, missingEntry),
  ]
  for (const find of findings) {
    const finding = await find()
    if (finding) return finding
  }
  return null
}

const PAGE_RECORDS_MAX = 500

/** Reads all records of a workspace in pages, up to the first finding. */
async function scan<Stored extends { row: { id: number } }>(
  snapshot: Transaction,
  workspaceId: number,
  read: (snapshot: Transaction, page: RecordPage) => Promise<Stored[]>,
  check: (stored: Stored) => Finding,
): Promise<Finding> {
  for (let afterId = 0; ; ) {
    const page = await read(snapshot, { workspaceId, afterId, limit: PAGE_RECORDS_MAX })
    for (const stored of page) {
      const finding = check(stored)
      if (finding) return finding
    }
    const last = page.at(-1)
    if (!last || page.length < PAGE_RECORDS_MAX) return null
    afterId = last.row.id
  }
}

function checkBatch({ row, entries: [entry] }: StoredBatch, missingEntry: number): Finding {
  const name = `Proposal ${row.id}`
  if (!entry) return { sequence: missingEntry, message: `${name} has no entry in the log.` }
  const { content_sha256: content, record_sha256: record } = entry.details
  const isSame =
    content === row.content_sha256.toString('hex') && isDigest(record, () => digestBatchRow(row))
  const { sequence } = entry
  return isSame ? null : { sequence, message: `${name} does not match entry ${sequence}.` }
}

/** Entries of earlier versions have no digest. */
function isDigest(stored: unknown, compute: () => string): boolean {
  return stored === undefined || stored === compute()
}

function checkAction(stored: StoredAction, missingEntry: number): Finding {
  const { row, action, entries } = stored
  const name = `Action ${row.id}`
  const [first] = entries
  const latest = entries.at(-1)
  if (!first || !latest) {
    return { sequence: missingEntry, message: `${name} has no entry in the log.` }
  }
  const { sequence, details } = latest
  if (details.status !== action.status) {
    const problem = `which says ${details.status}: it is ${action.status}`
    return { sequence, message: `${name} does not match entry ${sequence}, ${problem}.` }
  }
  if (!isDigest(first.details.record_sha256, () => digestActionRow(row))) {
    const message = `${name} does not match entry ${first.sequence}: it was changed after it was `
    return { sequence: first.sequence, message: `${message}proposed.` }
  }
  return isFinal(action.status) ? checkReceipt(stored) : checkDecider(stored, latest)
}

/** The receipt itself was compared with the log. */
function checkReceipt({ row, action, receipt }: StoredAction): Finding {
  if (!receipt) return null
  const { document } = buildReceiptDocument(action)
  const path = findDifference(parseJsonObject(receipt.document), JSON.parse(document))
  if (path === null) return null
  const { sequence } = receipt
  const message = `Action ${row.id} does not match its receipt in entry ${sequence}: ${path}.`
  return { sequence, message }
}

/** Until an action is completed, the entry of its approval names who decided. */
function checkDecider({ row, action, entries }: StoredAction, latest: RecordEntry): Finding {
  const approval = entries.find(({ action: name }) => name === 'action.approved')
  const decider = approval ? String(approval.actorId) : null
  const entry = approval ?? latest
  const { sequence } = entry
  const current = action.decidedBy === null ? null : String(action.decidedBy)
  if (current === decider) return null
  return { sequence, message: `Action ${row.id} names another decider than entry ${sequence}.` }
}

const RECORD_NAMES: Record<RecordType, string> = { action: 'Action', batch: 'Proposal' }

async function findMissingRecord(
  snapshot: Transaction,
  workspaceId: number,
  type: RecordType,
): Promise<Finding> {
  const found = await findEntryWithoutRecord(snapshot, workspaceId, type)
  if (!found) return null
  const { sequence, id } = found
  const message = `${RECORD_NAMES[type]} ${id}, which entry ${sequence} names, is missing.`
  return { sequence, message }
}

async function checkPolicy(
  snapshot: Transaction,
  workspaceId: number,
  missingEntry: number,
): Promise<Finding> {
  const entry = await findLastPolicyEntry(snapshot, workspaceId)
  const { changed_at: _, ...policy } = await readBasePolicy(snapshot, workspaceId)
  if (!entry) {
    const isInitial = policy.version === 0
    const message = 'The policy was changed without an entry in the log.'
    return isInitial ? null : { sequence: missingEntry, message }
  }
  const { sequence } = entry
  const path = findDifference(entry.details.after, policy)
  if (path === null) return null
  return { sequence, message: `The policy does not match entry ${sequence}: ${path}.` }
}
