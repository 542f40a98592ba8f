import { randomUUID } from 'node:crypto'
import {
  closeSync,
  constants,
  fchownSync,
  fsyncSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { link, open, rm } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'

const { O_CREAT, O_EXCL, O_NOFOLLOW, O_WRONLY } = constants

/**
 * Writes a file that only its owner may read, atomically: to a temporary file, to the disk, then by
 * a rename.
 */
export function writePrivateFile(folder: string, name: string, text: string): void {
  const temporary = join(folder, `${name}.${randomUUID()}`)
  try {
    writeTemporaryFile(temporary, folder, text)
    renameSync(temporary, join(folder, name))
  } catch (error) {
    rmSync(temporary, { force: true })
    throw error
  }
}

function writeTemporaryFile(path: string, folder: string, text: string): void {
  const file = openSync(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600)
  try {
    chownToFolderOwner(file, folder)
    writeFileSync(file, text)
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
}

/** Gives a file of root to the folder's owner, so that the owner can start without root. */
export function chownToFolderOwner(file: number, folder: string): void {
  if (process.geteuid?.() !== 0) return
  const { uid, gid } = statSync(folder)
  if (uid !== 0) fchownSync(file, uid, gid)
}

/** Flushes renames inside a folder to the disk. */
export function syncFolder(folder: string): void {
  const descriptor = openSync(folder, constants.O_RDONLY)
  try {
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}

/**
 * Streams a new file that only its owner may read, atomically: to a temporary file, to the disk,
 * then by a link to its name, which fails with EEXIST when the name exists. Throws the errors of
 * the file system.
 */
export async function streamPrivateFile(
  path: string,
  fill: (write: (text: string) => Promise<void>) => Promise<void>,
): Promise<void> {
  const folder = dirname(resolve(path))
  const temporary = join(folder, `${basename(path)}.${randomUUID()}`)
  try {
    const file = await open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600)
    try {
      chownToFolderOwner(file.fd, folder)
      await fill(text => file.writeFile(text))
      await file.sync()
    } finally {
      await file.close()
    }
    await link(temporary, path)
    syncFolder(folder)
  } finally {
    await rm(temporary, { force: true })
  }
}
