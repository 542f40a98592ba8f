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
 * Writes a file that only its owner may read, whole or not at all: it is written aside, brought
 * to the disk and then renamed.
 */
export function writePrivateFile(folder: string, name: string, text: string): void {
  const aside = join(folder, `${name}.${randomUUID()}`)
  try {
    writeTemporaryFile(aside, folder, text)
    renameSync(aside, join(folder, name))
  } catch (error) {
    rmSync(aside, { force: true })
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

/** As root in somebody's folder: the file is theirs, so that they can later start without root. */
export function chownToFolderOwner(file: number, folder: string): void {
  if (process.geteuid?.() !== 0) return
  const { uid, gid } = statSync(folder)
  if (uid !== 0) fchownSync(file, uid, gid)
}

/** Brings renames inside a folder to the disk. */
export function syncFolder(folder: string): void {
  const descriptor = openSync(folder, constants.O_RDONLY)
  try {
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}

/**
 * Writes a new file that only its owner may read, as much of it at a time as `fill` hands over, and
 * whole or not at all: it is written aside, brought to the disk and then linked to its name, which
 * fails with EEXIST when something is there. Throws the errors of the file system.
 */
export async function streamPrivateFile(
  path: string,
  fill: (write: (text: string) => Promise<void>) => Promise<void>,
): Promise<void> {
  const folder = dirname(resolve(path))
  const aside = join(folder, `${basename(path)}.${randomUUID()}`)
  try {
    const file = await open(aside, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600)
    try {
      chownToFolderOwner(file.fd, folder)
      await fill(text => file.writeFile(text))
      await file.sync()
    } finally {
      await file.close()
    }
    await link(aside, path)
    syncFolder(folder)
  } finally {
    await rm(aside, { force: true })
  }
}
