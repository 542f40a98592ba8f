import {
  closeSync,
  constants,
  fchmodSync,
  fchownSync,
  fstatSync,
  lchownSync,
  lstatSync,
  openSync,
  readdirSync,
} from 'node:fs'
import { join } from 'node:path'
import { EmbeddedPostgresError, toFolderError } from './embedded-postgres-error.ts'
import { findAccountName } from './unprivileged-account.ts'

export interface FileOwner {
  uid: number
  gid: number
}

/** Who owns a cluster, or null when there is none. Its PG_VERSION changes hands last of all. */
export function findClusterOwner(cluster: string): number | null {
  try {
    return lstatSync(join(cluster, 'PG_VERSION')).uid
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
}

/** An ordinary account cannot use a database of another one; it is told whose it is. */
export function refuseForeignCluster(cluster: string): void {
  const ourselves = process.geteuid?.()
  const owner = lstatSync(cluster, { throwIfNoEntry: false })?.uid
  if (owner === undefined || ourselves === 0 || owner === ourselves) return
  const name = findAccountName(owner)
  throw new EmbeddedPostgresError(
    `The database in ${cluster} belongs to ${name}: start Signalbox as ` +
      `${owner === 0 ? name : `${name} or root`}, or set SIGNALBOX_DATA_DIR to another folder.`,
  )
}

/**
 * Hands a cluster and all in it to another account; only root may call this.
 *
 * A careless recursive chown lets the old owner take any file of the machine: by a link, or by
 * swapping a folder for a link while we walk. So each folder first becomes root's, and from then
 * on nobody else can change what is in it; only plain files of the old owner are handed over; and
 * anything that a cluster of ours never holds (a link, a second name, a stranger's file) ends the
 * walk. A walk that was cut short is simply walked again.
 */
export function changeClusterOwner(cluster: string, from: number, to: FileOwner): void {
  try {
    changeFolderOwner(cluster, { to, owners: new Set([from, to.uid]) })
  } catch (error) {
    throw toFolderError(error, cluster)
  }
}

interface OwnerChange {
  to: FileOwner
  owners: ReadonlySet<number>
}

function changeFolderOwner(folder: string, handover: OwnerChange): void {
  closeToOthers(folder, handover)
  for (const name of namesWithVersionLast(folder)) {
    const path = join(folder, name)
    if (lstatSync(path).isDirectory()) changeFolderOwner(path, handover)
    else changeFileOwner(path, handover)
  }
  lchownSync(folder, handover.to.uid, handover.to.gid)
}

/** Through a descriptor, because chmod by path would follow a link that was put there meanwhile. */
function closeToOthers(folder: string, { owners }: OwnerChange): void {
  const { O_DIRECTORY, O_NOFOLLOW, O_RDONLY } = constants
  const descriptor = openSync(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
  try {
    const { uid } = fstatSync(descriptor)
    if (uid !== 0 && !owners.has(uid)) throw unexpectedFileError(folder)
    fchownSync(descriptor, 0, 0)
    fchmodSync(descriptor, 0o700)
  } finally {
    closeSync(descriptor)
  }
}

/** As long as PG_VERSION is the old owner's, the walk is known to be unfinished. */
function namesWithVersionLast(folder: string): string[] {
  const names = readdirSync(folder).filter(name => name !== 'PG_VERSION')
  const hasVersion = lstatSync(join(folder, 'PG_VERSION'), { throwIfNoEntry: false })
  return hasVersion ? [...names, 'PG_VERSION'] : names
}

function changeFileOwner(path: string, { to, owners }: OwnerChange): void {
  const file = lstatSync(path)
  if (!file.isFile() || file.nlink !== 1 || !owners.has(file.uid)) throw unexpectedFileError(path)
  lchownSync(path, to.uid, to.gid)
}

function unexpectedFileError(path: string): EmbeddedPostgresError {
  return new EmbeddedPostgresError(
    `${path} does not belong in a database folder, so its owner cannot be changed: remove it, ` +
      'or hand the folder over with chown yourself.',
  )
}
