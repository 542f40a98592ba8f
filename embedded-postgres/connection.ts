import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { EmbeddedPostgresError } from './embedded-postgres-error.ts'
import { writePrivateFile } from './private-file.ts'

const CONNECT_MILLISECONDS_MAX = 10_000

const WRONG_PASSWORD = '28P01'
const NO_SUCH_DATABASE = '3D000'
/** Two starts may create the database at once; the second hears one of these. */
const CREATED_MEANWHILE = ['42P04', '23505']

/**
 * Opens the door of a server that says it is ready: makes the database when it is missing and
 * returns its connection string. Throws pg's error when the server does not let us in.
 */
export async function openEmbeddedDatabase(folder: string, port: number): Promise<string> {
  const password = loadPassword(folder)
  const address = buildConnectionString(password, port)
  try {
    await runStatement(address, 'select 1')
  } catch (error) {
    if (errorCode(error) === WRONG_PASSWORD) throw wrongPasswordError(folder, error)
    if (errorCode(error) !== NO_SUCH_DATABASE) throw error
    await createDatabase(buildConnectionString(password, port, 'postgres'))
  }
  return address
}

async function createDatabase(address: string): Promise<void> {
  try {
    await runStatement(address, `create database ${DATABASE}`)
  } catch (error) {
    if (!CREATED_MEANWHILE.includes(errorCode(error))) throw error
  }
}

async function runStatement(connectionString: string, statement: string): Promise<void> {
  const client = new pg.Client({
    connectionString,
    application_name: 'signalbox start',
    connectionTimeoutMillis: CONNECT_MILLISECONDS_MAX,
  })
  // A server that dies in between is heard of through the promises below.
  client.on('error', () => {})
  try {
    await client.connect()
    await client.query(statement)
  } finally {
    await client.end()
  }
}

function errorCode(error: unknown): string {
  return String((error as { code?: unknown }).code ?? '')
}

function wrongPasswordError(folder: string, cause: unknown): EmbeddedPostgresError {
  return new EmbeddedPostgresError(
    `The password in ${folder}/postgres.password does not open the database beside it: ` +
      'restore the file that was there when the database was made.',
    { cause },
  )
}

/** The only account of the cluster and the only database in use. */
export const SUPERUSER = 'signalbox'
const DATABASE = 'signalbox'

const PASSWORD_FILE = 'postgres.password'
const PASSWORD_BYTES = 32

/** The password of a cluster that exists. Without it nobody gets in, so its loss is an error. */
function loadPassword(folder: string): string {
  const password = readPassword(folder)
  if (password) return password
  throw new EmbeddedPostgresError(
    `The database password in ${join(folder, PASSWORD_FILE)} is gone: restore that file from ` +
      `a backup, or move ${join(folder, 'postgres')} away to begin with an empty database.`,
  )
}

/** The password for a cluster that is about to be made: kept from an earlier try, or a new one. */
export function loadOrCreatePassword(folder: string): string {
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
function buildConnectionString(password: string, port: number, database = DATABASE) {
  // PGSSLMODE of the environment must not ask this server, on 127.0.0.1 only, for TLS.
  return `postgres://${SUPERUSER}:${password}@127.0.0.1:${port}/${database}?sslmode=disable`
}
