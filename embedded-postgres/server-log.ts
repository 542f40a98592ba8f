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
  /** Open for appending. The server gets a file and not a pipe, so it survives this process. */
  file: number
  /** Where the output of the next server begins. */
  startsAt: number
}

export function serverLogPath(folder: string): string {
  return join(folder, 'postgres.log')
}

/** Opens the log of the server. A log of more than 10 MB becomes `postgres.log.1` first. */
export function openServerLog(folder: string): ServerLog {
  const path = serverLogPath(folder)
  const before = statSync(path, { throwIfNoEntry: false })
  if (before && before.size > LOG_BYTES_MAX) renameSync(path, `${path}.1`)
  const { O_APPEND, O_CREAT, O_NOFOLLOW, O_WRONLY } = constants
  const file = openSync(path, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW, 0o600)
  chownToFolderOwner(file, folder)
  return { path, file, startsAt: fstatSync(file).size }
}

/** For the output of initdb. Best effort: nothing can be logged on a full disk. */
export function appendToServerLog(folder: string, output: string): void {
  try {
    const { file } = openServerLog(folder)
    try {
      writeFileSync(file, output)
    } finally {
      closeSync(file)
    }
  } catch {
    // The error that the caller throws matters more than a failure to log it.
  }
}

/** The log from an offset on, at most its last 64 KB. */
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

/** The last FATAL or PANIC line of the last server, or null. */
export function readLastFatalLine(folder: string): string | null {
  try {
    const log = readLogSince(serverLogPath(folder), 0)
    return findLastFatalLine(log.slice(Math.max(log.lastIndexOf('starting PostgreSQL'), 0)))
  } catch {
    // The log may have been removed; the exit must be reported without it.
    return null
  }
}
