import { randomUUID } from 'node:crypto'
import { constants } from 'node:fs'
import { link, open, rm } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { giveToFolderOwner, syncFolder } from './private-file.ts'

const { O_CREAT, O_EXCL, O_NOFOLLOW, O_WRONLY } = constants

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
      giveToFolderOwner(file.fd, folder)
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
