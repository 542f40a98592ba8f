import { chmodSync, lchownSync, mkdirSync, realpathSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'

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
