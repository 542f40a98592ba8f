import { Readable } from 'node:stream'
import type { Database } from '../db/database.ts'
import { parseJsonObject } from '../util/is-object.ts'
import { GENESIS_LINK } from './audit-entry.ts'
import { findLogExtent, readEntries, type StoredEntry } from './audit-read-store.ts'
import { formatHeadLine } from './signed-head.ts'

const PAGE_ENTRIES_MAX = 500

/**
 * The log of a workspace as it is when it begins to be read, as lines of JSON: one for each entry,
 * the oldest first, and last its head. `body` is the exact text that `hash` is of, so everybody can
 * recompute it. Nothing is judged here. Entries never change, so no snapshot is held while somebody
 * reads slowly; each piece is a page of whole lines.
 */
export function exportAudit(database: Database, workspaceId: number): Readable {
  return Readable.from(streamLines(database, workspaceId), { highWaterMark: 1 })
}

async function* streamLines(database: Database, workspaceId: number): AsyncGenerator<string> {
  const { head, lastSequence: last } = await findLogExtent(database, workspaceId)
  for (let after: number | undefined; last !== null; ) {
    const range = { workspaceId, after, until: last, limit: PAGE_ENTRIES_MAX }
    const page = await readEntries(database, range)
    if (page.length > 0) yield page.map(entry => formatEntryLine(workspaceId, entry)).join('')
    if (page.length < PAGE_ENTRIES_MAX) break
    after = page.at(-1)?.sequence
  }
  const { signature, ...place } = head ?? { ...EMPTY_HEAD, workspaceId }
  yield formatHeadLine(place, signature)
}

/** Of a log in which nothing was written, or whose head is gone. */
const EMPTY_HEAD = { ...GENESIS_LINK, signature: Buffer.alloc(0) }

function formatEntryLine(workspaceId: number, { sequence, body, hash }: StoredEntry): string {
  const line = {
    workspace_id: workspaceId,
    sequence,
    previous_hash: parseJsonObject(body)?.previous_hash ?? null,
    hash: hash.toString('hex'),
    body,
  }
  return `${JSON.stringify(line)}\n`
}
