import { closeSync, constants, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { copiedInUseError, isCopyOf } from './data-folder.ts'
import { EmbeddedPostgresError } from './embedded-postgres-error.ts'
import { readCommandLine, readProcessIdentity } from './process-identity.ts'

/** A PostgreSQL server that runs on a cluster, as its lock file describes it. */
export interface Postmaster {
  processId: number
  identity: string
  port: number
  status: 'starting' | 'ready' | 'stopping'
}

/**
 * The server that `postmaster.pid` of a cluster names, or null when there is no file or no server.
 * The file survives a killed server, and another program may have its process ID by now, so the
 * process must be a PostgreSQL that was started on this folder. Throws when the cluster is a copy
 * of one that a server is using: adopting that server would write into the original.
 */
export function findPostmaster(cluster: string): Postmaster | null {
  const lock = readLock(cluster)
  if (lock === null) return null
  const identity = readProcessIdentity(lock.processId)
  if (identity === null || !servesFolder(lock.processId, [lock.folder, cluster])) return null
  if (isCopyOf(cluster, lock.folder)) {
    throw copiedInUseError(cluster, lock.folder, `PostgreSQL (process ${lock.processId})`)
  }
  return { processId: lock.processId, identity, port: lock.port, status: toStatus(lock.status) }
}

interface Lock {
  processId: number
  folder: string
  port: number
  status: string
}

/** Lines of postmaster.pid (PostgreSQL's pidfile.h): pid, folder, start, port, ..., status. */
function readLock(cluster: string): Lock | null {
  const text = readLockText(cluster)
  if (text === null) return null
  const lines = text.split('\n')
  return {
    processId: Number.parseInt(lines[0] ?? '', 10),
    folder: lines[1] ?? '',
    port: Number.parseInt(lines[3] ?? '', 10),
    status: lines[7]?.trim() ?? '',
  }
}

function readLockText(cluster: string): string | null {
  try {
    return readFileSync(lockPath(cluster), 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
}

function lockPath(cluster: string): string {
  return join(cluster, 'postmaster.pid')
}

function servesFolder(processId: number, folders: string[]): boolean {
  const [program = '', ...options] = readCommandLine(processId) ?? []
  if (basename(program) !== 'postgres') return false
  const folder = options[options.indexOf('-D') + 1] ?? ''
  // Outside Linux the command line is split at spaces, so all of it is searched for the folder.
  return folders.some(path => folder === path || options.join(' ').includes(`-D ${path} -c`))
}

function toStatus(text: string): Postmaster['status'] {
  if (text === 'ready' || text === 'stopping') return text
  return 'starting'
}

/**
 * Neutralizes the lock file of a dead server whose process ID is in use, by another program or by
 * a zombie, because PostgreSQL would refuse to start. The file is not removed: PostgreSQL needs
 * the rest of it to check whether children of the dead server still use the shared memory. It
 * accepts the process ID of its own parent, so ours is written. A file without a process ID, which
 * a power loss leaves, protects nothing and is removed.
 */
export async function neutralizeStaleLockFile(cluster: string): Promise<void> {
  const readProcessId = () => Number.parseInt(readLockText(cluster) ?? 'none', 10)
  if (readLockText(cluster) === null) return
  // A server that is starting creates the file and fills it within microseconds.
  await waitUntil(() => !Number.isNaN(readProcessId()), {
    timeoutSeconds: 1,
    intervalMilliseconds: 50,
  })
  const processId = readProcessId()
  if (Number.isNaN(processId)) {
    rmSync(lockPath(cluster), { force: true })
  } else if (isProcessIdInUse(processId) && findPostmaster(cluster) === null) {
    const [, ...rest] = (readLockText(cluster) ?? '').split('\n')
    overwrite(lockPath(cluster), [process.pid, ...rest].join('\n'))
  }
}

/** The check of PostgreSQL itself. A zombie keeps its ID, and some containers never reap theirs. */
function isProcessIdInUse(processId: number): boolean {
  try {
    process.kill(processId, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/** In place, so that the file keeps its owner. A link in its place is refused. */
function overwrite(path: string, text: string): void {
  const { O_NOFOLLOW, O_TRUNC, O_WRONLY } = constants
  const file = openSync(path, O_WRONLY | O_TRUNC | O_NOFOLLOW)
  try {
    writeFileSync(file, text)
  } finally {
    closeSync(file)
  }
}

/**
 * PostgreSQL manual, "Shutting Down the Server": a fast shutdown drops clients and writes a
 * checkpoint; an immediate shutdown leaves recovery to the next start. Neither loses a commit.
 */
const SHUTDOWN_SIGNALS = [
  { signal: 'SIGINT', secondsMax: 20 },
  { signal: 'SIGQUIT', secondsMax: 10 },
] as const

/** Stops a server and returns when its process has exited. */
export async function stopServer(postmaster: Postmaster): Promise<void> {
  const isGone = () => !isRunning(postmaster)
  for (const { signal, secondsMax } of SHUTDOWN_SIGNALS) {
    sendSignal(postmaster, signal)
    if (await waitUntil(isGone, { timeoutSeconds: secondsMax, intervalMilliseconds: 25 })) return
  }
  throw new EmbeddedPostgresError(
    `PostgreSQL (process ${postmaster.processId}) does not stop: kill it, then start again.`,
  )
}

export function isRunning({ processId, identity }: Postmaster): boolean {
  return readProcessIdentity(processId) === identity
}

function sendSignal(postmaster: Postmaster, signal: NodeJS.Signals): void {
  if (!isRunning(postmaster)) return
  try {
    process.kill(postmaster.processId, signal)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

interface WaitOptions {
  timeoutSeconds: number
  intervalMilliseconds: number
}

/** Polls until the condition is true. Returns false when it is still false at the timeout. */
export async function waitUntil(
  condition: () => boolean,
  { timeoutSeconds, intervalMilliseconds }: WaitOptions,
): Promise<boolean> {
  const pollsMax = Math.ceil((timeoutSeconds * 1000) / intervalMilliseconds)
  for (let polls = 0; polls < pollsMax; polls += 1) {
    if (condition()) return true
    await delay(intervalMilliseconds)
  }
  return condition()
}
