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

/** The owner of a cluster, or null when there is none. PG_VERSION changes its owner last. */
export function findClusterOwner(cluster: string): number | null {
  try {
    return lstatSync(join(cluster, 'PG_VERSION')).uid
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
}

/** An ordinary account cannot use the cluster of another account. The error names its owner. */
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
 * Changes the owner of a cluster and of everything in it. Only root may call this.
 *
 * A careless recursive chown would let the old owner take any file of the machine, by a link, or
 * by swapping a folder for a link during the walk. So each folder first becomes root's, after
 * which no other account can change its content; only plain files of the old owner change hands;
 * and anything that a cluster never contains (a link, a second hard link, a file of a third
 * account) stops the walk. An interrupted walk can be repeated.
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

function changeFolderOwner(folder: string, change: OwnerChange): void {
  takeFolder(folder, change)
  for (const name of listVersionLast(folder)) {
    const path = join(folder, name)
    if (lstatSync(path).isDirectory()) changeFolderOwner(path, change)
    else changeFileOwner(path, change)
  }
  lchownSync(folder, change.to.uid, change.to.gid)
}

/** By descriptor, because chmod by path would follow a link that replaced the folder. */
function takeFolder(folder: string, { owners }: OwnerChange): void {
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

/** While PG_VERSION belongs to the old owner, the walk is unfinished. */
function listVersionLast(folder: string): string[] {
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
      'or change the owner of the folder with chown.',
  )
}
