import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { prepareDataFolder } from '@signalbox/embedded-postgres/data-folder.ts'
import { writePrivateFile } from '@signalbox/embedded-postgres/private-file.ts'
import type { ChainLink } from './audit-entry.ts'

const FILE = 'audit-heads.json'

/** By workspace ID: the last entry of its log at the last successful verification. */
export type HeadCheckpoints = ReadonlyMap<number, ChainLink>

/** The checkpoint file is unreadable. The message is one sentence that names the file. */
export class HeadCheckpointsError extends Error {
  override name = 'HeadCheckpointsError'
}

/**
 * Reads the checkpoints of this data folder. They are stored outside the database, so that they
 * reveal a database owner who restores an older, validly signed head. Returns no checkpoints if the
 * file does not exist; throws a HeadCheckpointsError if it is invalid.
 */
export function readHeadCheckpoints(dataDirectory: string): HeadCheckpoints {
  const path = join(dataDirectory, FILE)
  try {
    const members = Object.entries(JSON.parse(readFileSync(path, 'utf8')) as object)
    return new Map(members.map(([id, head]) => [Number(id), parseCheckpoint(head)]))
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    if (code === 'ENOENT' || code === 'ENOTDIR') return new Map()
    throw new HeadCheckpointsError(
      `${path} does not hold the heads of the audit logs: restore it from a backup, or move it ` +
        'away to start over.',
      { cause },
    )
  }
}

/**
 * Merges newly verified heads into the file. A concurrent write is never overwritten by an older
 * head: the later head of each workspace wins. Throws file system errors.
 */
export function saveHeadCheckpoints(dataDirectory: string, verified: HeadCheckpoints): void {
  if (verified.size === 0) return
  const folder = prepareDataFolder(dataDirectory)
  const heads = new Map(readHeadCheckpoints(folder))
  for (const [workspaceId, head] of verified) {
    if (head.sequence >= (heads.get(workspaceId)?.sequence ?? 0)) heads.set(workspaceId, head)
  }
  const members = [...heads]
    .toSorted(([a], [b]) => a - b)
    .map(([id, { sequence, hash }]) => [id, { sequence, hash: hash.toString('hex') }])
  writePrivateFile(folder, FILE, `${JSON.stringify(Object.fromEntries(members), null, 2)}\n`)
}

function parseCheckpoint(value: { sequence?: unknown; hash?: unknown }): ChainLink {
  const { sequence, hash } = value
  if (!Number.isSafeInteger(sequence) || !/^[0-9a-f]{64}$/.test(String(hash))) {
    throw new TypeError('not an audit head')
  }
  return { sequence: Number(sequence), hash: Buffer.from(String(hash), 'hex') }
}
