import { Readable } from 'node:stream'
import type { Database } from '../../db/database.ts'
import { findLogEnd, readEntries, type StoredEntry } from './audit-read-store.ts'
import { FIRST_LINK } from './chained-entry.ts'
import { headLine } from './head-line.ts'
import { jsonObject } from './json-object.ts'

const PAGE_ENTRIES_MAX = 500

/**
 * The log of a workspace as it is when it begins to be read, as lines of JSON: one for each entry,
 * the oldest first, and last its head. `body` is the exact text that `hash` is of, so everybody can
 * recompute it. Nothing is judged here. Entries never change, so no snapshot is held while somebody
 * reads slowly; each piece is a page of whole lines.
 */
export function exportAudit(database: Database, workspaceId: number): Readable {
  return Readable.from(linesOf(database, workspaceId), { highWaterMark: 1 })
}

async function* linesOf(database: Database, workspaceId: number): AsyncGenerator<string> {
  const { head, last } = await findLogEnd(database, workspaceId)
  for (let after: number | undefined; last !== null; ) {
    const range = { workspaceId, after, until: last, limit: PAGE_ENTRIES_MAX }
    const page = await readEntries(database, range)
    if (page.length > 0) yield page.map(entry => entryLine(workspaceId, entry)).join('')
    if (page.length < PAGE_ENTRIES_MAX) break
    after = page.at(-1)?.sequence
  }
  const { signature, ...place } = head ?? { ...NO_HEAD, workspaceId }
  yield headLine(place, signature)
}

/** Of a log in which nothing was written, or whose head is gone. */
const NO_HEAD = { ...FIRST_LINK, signature: Buffer.alloc(0) }

function entryLine(workspaceId: number, { sequence, body, hash }: StoredEntry): string {
  const line = {
    workspace_id: workspaceId,
    sequence,
    previous_hash: jsonObject(body)?.previous_hash ?? null,
    hash: hash.toString('hex'),
    body,
  }
  return `${JSON.stringify(line)}\n`
}
