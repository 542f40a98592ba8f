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
 * Makes the data folder when it is missing and returns its real path. As root it is made so that
 * PostgreSQL's account may pass through it but not list it, and below somebody's folder it is
 * theirs. A folder that was there before is left as it is.
 */
export function prepareDataFolder(path: string): string {
  const asRoot = process.geteuid?.() === 0
  const mode = asRoot ? 0o711 : 0o700
  const firstMade = mkdirSync(resolve(path), { recursive: true, mode })
  if (firstMade !== undefined) allowAll(resolve(path), { firstMade, mode })
  if (asRoot && firstMade !== undefined) {
    const { uid, gid } = statSync(dirname(firstMade))
    if (uid !== 0) lchownSync(path, uid, gid)
  }
  return realpathSync(path)
}

/** A strict umask takes rights away from what is made, without which PostgreSQL cannot start. */
function allowAll(path: string, { firstMade, mode }: { firstMade: string; mode: number }): void {
  for (let folder = path; folder.length >= firstMade.length; folder = dirname(folder)) {
    chmodSync(folder, mode)
  }
}

const OWNER_FILE = 'owner.json'
const LOCK_FOLDER = 'owner.lock'
const LOCK_TRIES_MAX = 40
const LOCK_WAIT_MILLISECONDS = 50

/** The service that runs the embedded server of a data folder: its `owner.json`. */
interface OwnerRecord {
  pid: number
  identity: string
  startedAt: string
}

/**
 * Makes this process the owner of a data folder, or throws when another living service owns it.
 * A record left by a killed service counts for nothing, even when its number lives on in another
 * program. Returns the release.
 */
export async function lockDataFolder(folder: string): Promise<() => void> {
  await withLockFolder(folder, () => {
    const owner = readOwner(folder)
    if (owner !== null && readProcessIdentity(owner.pid) === owner.identity) {
      throw new EmbeddedPostgresError(
        `Another Signalbox (process ${owner.pid}) is already using ${folder}: stop that one, ` +
          'or give this one a SIGNALBOX_DATA_DIR of its own.',
      )
    }
    writePrivateFile(folder, OWNER_FILE, `${JSON.stringify(createOwnerRecord())}\n`)
  })
  return () => releaseDataFolder(folder)
}

function createOwnerRecord(): OwnerRecord {
  return {
    pid: process.pid,
    identity: readProcessIdentity(process.pid) ?? '',
    startedAt: new Date(performance.timeOrigin).toISOString(),
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

/** Whoever wrote something else there was not us: it claims nothing. */
function parseOwner(text: string): OwnerRecord | null {
  try {
    const record = JSON.parse(text) as Partial<OwnerRecord> | null
    if (typeof record?.pid !== 'number' || typeof record.identity !== 'string') return null
    return { pid: record.pid, identity: record.identity, startedAt: record.startedAt ?? '' }
  } catch {
    return null
  }
}

/**
 * Only one process at a time looks and writes: making a folder either succeeds or says that it is
 * there. The work inside is done in a millisecond, so a lock that outlasts all our tries belongs
 * to a service that was killed in that millisecond, and is taken over.
 */
async function withLockFolder(folder: string, work: () => void): Promise<void> {
  const lock = join(folder, LOCK_FOLDER)
  for (let tries = 0; tries < LOCK_TRIES_MAX && !makeLock(lock); tries += 1) {
    await delay(LOCK_WAIT_MILLISECONDS)
  }
  try {
    work()
  } finally {
    rmSync(lock, { recursive: true, force: true })
  }
}

function makeLock(lock: string): boolean {
  try {
    mkdirSync(lock)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
}

function releaseDataFolder(folder: string): void {
  if (readOwner(folder)?.identity === createOwnerRecord().identity) {
    rmSync(join(folder, OWNER_FILE), { force: true })
  }
}
