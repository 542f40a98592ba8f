import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { prepareDataFolder } from '@signalbox/embedded-postgres/data-folder.ts'
import { writePrivateFile } from '@signalbox/embedded-postgres/private-file.ts'
import type { ChainLink } from './audit-entry.ts'

const FILE = 'audit-heads.json'

/** The last entry of each workspace's log when it was verified last, by the workspace. */
export type HeadCheckpoints = ReadonlyMap<number, ChainLink>

/** The memo cannot be read; the message is one sentence that names the file. */
export class HeadCheckpointsError extends Error {
  override name = 'RememberedHeadsError'
}

/**
 * What this data folder remembers. It lies outside of the store, so that whoever owns the store and
 * puts an older head back, which was signed in its time, is found out. Throws a
 * HeadCheckpointsError when the file is there and says something else.
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
        'away to begin anew.',
      { cause },
    )
  }
}

/**
 * Adds what was verified just now. Whoever writes at the same moment is not overwritten with less:
 * of two heads of one workspace the later one stays. Throws the errors of the file system.
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
    throw new TypeError('that is no head')
  }
  return { sequence: Number(sequence), hash: Buffer.from(String(hash), 'hex') }
}
