import { randomUUID } from 'node:crypto'
import { existsSync, linkSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { prepareDataFolder } from '../db/prepare-data-folder.ts'
import { syncFolder, writePrivateFile } from '../db/private-file.ts'

/**
 * The text of a file in the data folder (mode 0600), without white space around it. When it is not
 * there, `make` says what it holds from now on. Throws the errors of the file system.
 */
export function keptSecret(dataDirectory: string, file: string, make: () => string): string {
  const path = join(dataDirectory, file)
  if (!existsSync(path)) keepNew(prepareDataFolder(dataDirectory), file, make())
  return readFileSync(path, 'utf8').trim()
}

/**
 * Written aside first, so that a kill leaves either no secret or a whole one; then linked to its
 * name, which fails when it is taken, so that two starts at once agree on one secret.
 */
function keepNew(folder: string, file: string, secret: string): void {
  const aside = `${file}.${randomUUID()}`
  writePrivateFile(folder, aside, secret)
  try {
    linkSync(join(folder, aside), join(folder, file))
    syncFolder(folder)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  } finally {
    rmSync(join(folder, aside), { force: true })
  }
}
