import { closeSync, constants, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { EmbeddedPostgresError } from './embedded-postgres-error.ts'
import { readCommandLine, readProcessIdentity } from './process-identity.ts'

/** A PostgreSQL server that runs on a cluster right now, as its lock file describes it. */
export interface Postmaster {
  processId: number
  identity: string
  port: number
  status: 'starting' | 'ready' | 'stopping'
}

/**
 * The server that `postmaster.pid` of a cluster names, or null when there is no such file or no
 * such server. The file outlives a killed server, and its number may by now belong to any other
 * program, so the program behind the number must be a PostgreSQL that was started on this folder.
 */
export function findPostmaster(cluster: string): Postmaster | null {
  const lock = readLock(cluster)
  if (lock === null) return null
  const identity = readProcessIdentity(lock.processId)
  if (identity === null || !servesFolder(lock.processId, [lock.folder, cluster])) return null
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
  // Outside Linux the line comes cut at spaces, so the folder is looked for in the whole of it.
  return folders.some(ours => folder === ours || options.join(' ').includes(`-D ${ours} -c`))
}

function toStatus(word: string): Postmaster['status'] {
  if (word === 'ready' || word === 'stopping') return word
  return 'starting'
}

/**
 * Makes a lock file of a dead server harmless when its number is not free (another program has it
 * now, or nobody has buried the dead yet), at which PostgreSQL would refuse to start. The file is
 * not removed: PostgreSQL needs the rest of it to see whether children of the dead server still
 * hold the shared memory. It does not mind the number of its own parent, so we write ours.
 * A file without a number is what a power cut leaves; it protects nothing and goes.
 */
export async function neutralizeStaleLockFile(cluster: string): Promise<void> {
  const numberOf = () => Number.parseInt(readLockText(cluster) ?? 'none', 10)
  if (readLockText(cluster) === null) return
  // A server that starts at this moment has made the file and fills it within microseconds.
  await waitUntil(() => !Number.isNaN(numberOf()), { timeoutSeconds: 1, intervalMilliseconds: 50 })
  const processId = numberOf()
  if (Number.isNaN(processId)) {
    rmSync(lockPath(cluster), { force: true })
  } else if (isNumberTaken(processId) && findPostmaster(cluster) === null) {
    const [, ...rest] = (readLockText(cluster) ?? '').split('\n')
    overwrite(lockPath(cluster), [process.pid, ...rest].join('\n'))
  }
}

/** What PostgreSQL itself asks. A zombie keeps its number; some containers never bury theirs. */
function isNumberTaken(processId: number): boolean {
  try {
    process.kill(processId, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/** In place, so that the file stays the account's own; a link in its place is refused. */
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
 * Ways to end PostgreSQL (its manual, "Shutting Down the Server"), the kindest first. Fast
 * shutdown drops clients and leaves a clean disk; immediate shutdown leaves recovery to the next
 * start. Neither loses a commit.
 */
const SHUTDOWN_SIGNALS = [
  { signal: 'SIGINT', secondsMax: 20 },
  { signal: 'SIGQUIT', secondsMax: 10 },
] as const

/** Ends a server, ours or one that we found, and returns when it is gone. */
export async function stopServer(postmaster: Postmaster): Promise<void> {
  const isGone = () => !isRunning(postmaster)
  for (const { signal, secondsMax } of SHUTDOWN_SIGNALS) {
    sendSignal(postmaster, signal)
    if (await waitUntil(isGone, { timeoutSeconds: secondsMax, intervalMilliseconds: 25 })) return
  }
  throw new EmbeddedPostgresError(
    `PostgreSQL (process ${postmaster.processId}) does not end: end it by hand, then start again.`,
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

/** For a pause between two tries. */
export async function sleep(seconds: number): Promise<void> {
  await delay(seconds * 1_000)
}

/** Asks again and again until the answer is yes (true) or patience ends (false). */
export async function waitUntil(
  isSo: () => boolean | Promise<boolean>,
  patience: WaitOptions,
): Promise<boolean> {
  const asksMax = Math.ceil((patience.timeoutSeconds * 1000) / patience.intervalMilliseconds)
  for (let asks = 0; asks < asksMax; asks += 1) {
    if (await isSo()) return true
    await delay(patience.intervalMilliseconds)
  }
  return isSo()
}
