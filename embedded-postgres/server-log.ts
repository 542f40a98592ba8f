import {
  closeSync,
  constants,
  fstatSync,
  openSync,
  readSync,
  renameSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { findLastFatalLine } from './embedded-postgres-error.ts'
import { chownToFolderOwner } from './private-file.ts'

const LOG_BYTES_MAX = 10 * 1024 * 1024
const TAIL_BYTES_MAX = 64 * 1024

export interface ServerLog {
  path: string
  /** Open for appending. The server gets the file itself, not a pipe to us, and so outlives us. */
  file: number
  /** Where the words of the next server begin. */
  startsAt: number
}

export function serverLogPath(folder: string): string {
  return join(folder, 'postgres.log')
}

/** Opens the server's log; one that has grown past 10 MB becomes `postgres.log.1` first. */
export function openServerLog(folder: string): ServerLog {
  const path = serverLogPath(folder)
  const before = statSync(path, { throwIfNoEntry: false })
  if (before && before.size > LOG_BYTES_MAX) renameSync(path, `${path}.1`)
  const { O_APPEND, O_CREAT, O_NOFOLLOW, O_WRONLY } = constants
  const file = openSync(path, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW, 0o600)
  chownToFolderOwner(file, folder)
  return { path, file, startsAt: fstatSync(file).size }
}

/** Keeps what initdb said beside what the server says. On a full disk there is nothing to keep. */
export function appendToServerLog(folder: string, words: string): void {
  try {
    const { file } = openServerLog(folder)
    try {
      writeFileSync(file, words)
    } finally {
      closeSync(file)
    }
  } catch {
    // The sentence that the caller is about to throw says more than a failure to log it.
  }
}

/** What was written to the log since a place in it, at most its last 64 KB. */
export function readLogSince(path: string, startsAt: number): string {
  const file = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW)
  try {
    const { size } = fstatSync(file)
    const from = Math.max(size < startsAt ? 0 : startsAt, size - TAIL_BYTES_MAX)
    const tail = Buffer.alloc(Math.max(size - from, 0))
    const bytesRead = readSync(file, tail, 0, tail.length, from)
    return tail.toString('utf8', 0, bytesRead)
  } finally {
    closeSync(file)
  }
}

/** Why the last server gave up, in its own words: a FATAL or PANIC line of its log, or null. */
export function readLastFatalLine(folder: string): string | null {
  try {
    const words = readLogSince(serverLogPath(folder), 0)
    return findLastFatalLine(words.slice(Math.max(words.lastIndexOf('starting PostgreSQL'), 0)))
  } catch {
    // The log may have been removed; a missing explanation must not hide the end itself.
    return null
  }
}
