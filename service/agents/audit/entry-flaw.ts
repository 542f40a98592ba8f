import { canonicalJson } from '@signalbox/contract/canonical-json.ts'
import type { StoredEntry } from './audit-read-store.ts'
import { digestOfBody } from './chained-entry.ts'
import { type JsonObject, jsonObject, objectOrNone } from './json-object.ts'

/** An entry as its own text says it is. */
export interface InspectedEntry {
  sequence: number
  /** Of the text as it stands there now. */
  digest: Buffer
  /** What the text names as the one before; null where it names nothing. */
  previousHash: string | null
  subject: { type: unknown; id: unknown }
  /** The digest of the receipt that was written with it; null: none. */
  documentSha256: unknown
  /** What is wrong with it whatever stands around it: a sentence, or null. */
  flaw: string | null
}

/** Recomputes the digest of an entry and compares its text with the place where it stands. */
export function inspectEntry(entry: StoredEntry, workspaceId: number): InspectedEntry {
  const { sequence } = entry
  const body = jsonObject(entry.body)
  const digest = digestOfBody(entry.body)
  const { previous_hash, subject, details } = body ?? {}
  const { type, id } = objectOrNone(subject)
  const { document_sha256: documentSha256 = null } = objectOrNone(details)
  const previousHash = typeof previous_hash === 'string' ? previous_hash : null
  const flaw = flawOf(entry, { body, digest, workspaceId })
  return { sequence, digest, previousHash, subject: { type, id }, documentSha256, flaw }
}

interface Inspected {
  body: JsonObject | null
  digest: Buffer
  workspaceId: number
}

function flawOf(entry: StoredEntry, { body, digest, workspaceId }: Inspected): string | null {
  const name = `Entry ${entry.sequence}`
  if (!digest.equals(entry.hash)) return `${name} is not the text that its digest is of.`
  if (!body) return `${name} is not a JSON object.`
  if (!isCanonical(entry.body, body)) return `${name} is not written as the log writes it.`
  if (body.workspace_id !== workspaceId) return `${name} was written for another workspace.`
  if (body.sequence !== entry.sequence) {
    return `${name} says of itself that it is another entry.`
  }
  const { action, subjectType, subjectId } = entry.columns
  const subject = objectOrNone(body.subject)
  const isRead = action === body.action && subjectType === subject.type && subjectId === subject.id
  return isRead ? null : `The columns beside entry ${entry.sequence} do not say what it says.`
}

function isCanonical(text: string, body: object): boolean {
  try {
    return canonicalJson(body) === text
  } catch {
    return false
  }
}
