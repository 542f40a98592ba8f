import {
  chmodSync,
  lchownSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
} from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { EmbeddedPostgresError } from './embedded-postgres-error.ts'
import { writePrivateFile } from './private-file.ts'
import { readProcessIdentity } from './process-identity.ts'

/**
 * Creates the data folder if it is missing and returns its real path. Root creates it so that
 * PostgreSQL's account may traverse it but not list it, and gives it to the owner of the folder
 * above. An existing folder stays as it is.
 */
export function prepareDataFolder(path: string): string {
  const asRoot = process.geteuid?.() === 0
  const mode = asRoot ? 0o711 : 0o700
  const firstCreated = mkdirSync(resolve(path), { recursive: true, mode })
  if (firstCreated !== undefined) setMode(resolve(path), { firstCreated, mode })
  if (asRoot && firstCreated !== undefined) {
    const { uid, gid } = statSync(dirname(firstCreated))
    if (uid !== 0) lchownSync(path, uid, gid)
  }
  return realpathSync(path)
}

/** PostgreSQL cannot start without the permissions that a strict umask removes. */
function setMode(
  path: string,
  { firstCreated, mode }: { firstCreated: string; mode: number },
): void {
  for (let folder = path; folder.length >= firstCreated.length; folder = dirname(folder)) {
    chmodSync(folder, mode)
  }
}

const OWNER_FILE = 'owner.json'
const LOCK_FOLDER = 'owner.lock'
const LOCK_ATTEMPTS_MAX = 40
const LOCK_WAIT_MILLISECONDS = 50

/** The service that owns a data folder: its `owner.json`. */
interface OwnerRecord {
  pid: number
  identity: string
  startedAt: string
  /** The folder that it owns; empty in a record of an earlier version. */
  folder: string
}

/**
 * Makes this process the owner of a data folder, or throws when another running service owns it.
 * The record of a killed service is ignored, even when another program has its process ID. A copy
 * of a folder in use contains the owner record of the original. It is refused, because its files
 * are from different times. Returns the function that releases the folder.
 */
export async function lockDataFolder(folder: string): Promise<() => void> {
  await withLockFolder(folder, () => {
    const owner = readOwner(folder)
    if (owner !== null && readProcessIdentity(owner.pid) === owner.identity) {
      const user = `another Signalbox (process ${owner.pid})`
      if (isCopyOf(folder, owner.folder)) throw copiedInUseError(folder, owner.folder, user)
      throw new EmbeddedPostgresError(
        `Another Signalbox (process ${owner.pid}) is already using ${folder}: stop that one, ` +
          'or give this one a SIGNALBOX_DATA_DIR of its own.',
      )
    }
    writePrivateFile(folder, OWNER_FILE, `${JSON.stringify(createOwnerRecord(folder))}\n`)
  })
  return () => releaseDataFolder(folder)
}

/**
 * True when `recorded`, the path that a file of `folder` names as its own, is another folder that
 * exists. A folder that was moved while in use is not a copy: nothing is at its old path.
 */
export function isCopyOf(folder: string, recorded: string): boolean {
  if (recorded === '' || recorded === folder) return false
  const original = readFolderIdentity(recorded)
  return original !== null && original !== readFolderIdentity(folder)
}

/** The same for every path to a folder, also after a move; null when nothing is there. */
function readFolderIdentity(path: string): string | null {
  try {
    const { dev, ino } = statSync(path, { bigint: true })
    return `${dev}:${ino}`
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException
    // A folder that this account cannot read is not its own.
    return ['ENOENT', 'ENOTDIR'].includes(code) ? null : code
  }
}

/** `user` is the process that uses the original. */
export function copiedInUseError(
  folder: string,
  original: string,
  user: string,
): EmbeddedPostgresError {
  return new EmbeddedPostgresError(
    `${folder} is a copy of ${original}, which ${user} is using, and a copy of files that change ` +
      'may be damaged: copy it again while that one is stopped, or use pg_dump. The copy of an ' +
      'atomic snapshot starts without its owner.json and postgres/postmaster.pid.',
  )
}

function createOwnerRecord(folder: string): OwnerRecord {
  return {
    pid: process.pid,
    identity: readProcessIdentity(process.pid) ?? '',
    startedAt: new Date(performance.timeOrigin).toISOString(),
    folder,
  }
}

function readOwner(folder: string): OwnerRecord | null {
  let text: string
  try {
    text = readFileSync(join(folder, OWNER_FILE), 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
  return parseOwner(text)
}

/** A malformed record counts as none. */
function parseOwner(text: string): OwnerRecord | null {
  try {
    const record = JSON.parse(text) as Partial<OwnerRecord> | null
    if (typeof record?.pid !== 'number' || typeof record.identity !== 'string') return null
    const { pid, identity, startedAt = '', folder = '' } = record
    return { pid, identity, startedAt, folder: typeof folder === 'string' ? folder : '' }
  } catch {
    return null
  }
}

/**
 * Lets one process at a time read and write the record: creating a folder is atomic. The work takes
 * a millisecond, so a lock that survives all attempts belongs to a service that was killed in that
 * millisecond, and is ignored.
 */
async function withLockFolder(folder: string, work: () => void): Promise<void> {
  const lock = join(folder, LOCK_FOLDER)
  for (let attempts = 0; attempts < LOCK_ATTEMPTS_MAX && !createLock(lock); attempts += 1) {
    await delay(LOCK_WAIT_MILLISECONDS)
  }
  try {
    work()
  } finally {
    rmSync(lock, { recursive: true, force: true })
  }
}

function createLock(lock: string): boolean {
  try {
    mkdirSync(lock)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
}

function releaseDataFolder(folder: string): void {
  if (readOwner(folder)?.identity === readProcessIdentity(process.pid)) {
    rmSync(join(folder, OWNER_FILE), { force: true })
  }
}
