import { Readable } from 'node:stream'
import type { Database } from '../runtime/db/database.ts'
import { parseJsonObject } from '../runtime/util/is-object.ts'
import { GENESIS_LINK } from './audit-entry.ts'
import { findLogExtent, readEntries, type StoredEntry } from './audit-read-store.ts'
import { formatHeadLine } from './signed-head.ts'

const PAGE_ENTRIES_MAX = 500

/**
 * Streams the log of a workspace as NDJSON: one line per entry, oldest first, then the signed head.
 * `body` is the exact input of `hash`, so anyone can recompute the chain. Nothing is verified here.
 * The end of the log is fixed when reading starts. Entries never change, so a slow reader does not
 * hold a snapshot open. Each chunk is one page of complete lines.
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

/** The head of an empty log, or of a log whose head row is missing. */
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
