import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { EmbeddedPostgresError } from './embedded-postgres-error.ts'
import { writePrivateFile } from './private-file.ts'

/** The only account of the cluster and the only database in use. */
export const SUPERUSER = 'signalbox'
export const DATABASE = 'signalbox'

const PASSWORD_FILE = 'postgres.password'
const PASSWORD_BYTES = 32

/** The password of a cluster that exists. Without it nobody gets in, so its loss is an error. */
export function embeddedPassword(folder: string): string {
  const password = readPassword(folder)
  if (password) return password
  throw new EmbeddedPostgresError(
    `The database password in ${join(folder, PASSWORD_FILE)} is gone: restore that file from ` +
      `a backup, or move ${join(folder, 'postgres')} away to begin with an empty database.`,
  )
}

/** The password for a cluster that is about to be made: kept from an earlier try, or a new one. */
export function keptOrNewPassword(folder: string): string {
  const kept = readPassword(folder)
  if (kept) return kept
  const password = randomBytes(PASSWORD_BYTES).toString('base64url')
  writePrivateFile(folder, PASSWORD_FILE, `${password}\n`)
  return password
}

function readPassword(folder: string): string | null {
  try {
    return readFileSync(join(folder, PASSWORD_FILE), 'utf8').trim() || null
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
}

/** The address with the password in it: a secret, for the pool only, never for a log. */
export function embeddedConnectionString(password: string, port: number, database = DATABASE) {
  // PGSSLMODE of the environment must not ask this server, on 127.0.0.1 only, for TLS.
  return `postgres://${SUPERUSER}:${password}@127.0.0.1:${port}/${database}?sslmode=disable`
}
