import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { EmbeddedPostgresError } from './embedded-postgres-error.ts'
import { writePrivateFile } from './private-file.ts'

const CONNECT_MILLISECONDS_MAX = 10_000

const WRONG_PASSWORD = '28P01'
const NO_SUCH_DATABASE = '3D000'
/** The errors of the slower of two starts that create the database at the same time. */
const CREATED_CONCURRENTLY = ['42P04', '23505']

/**
 * Creates the database of a ready server if it is missing and returns the connection string.
 * Throws pg's error when the server refuses the connection.
 */
export async function openEmbeddedDatabase(folder: string, port: number): Promise<string> {
  const password = loadPassword(folder)
  const connectionString = buildConnectionString(password, port)
  try {
    await runStatement(connectionString, 'select 1')
  } catch (error) {
    if (errorCode(error) === WRONG_PASSWORD) throw wrongPasswordError(folder, error)
    if (errorCode(error) !== NO_SUCH_DATABASE) throw error
    await createDatabase(buildConnectionString(password, port, 'postgres'))
  }
  return connectionString
}

async function createDatabase(connectionString: string): Promise<void> {
  try {
    await runStatement(connectionString, `create database ${DATABASE}`)
  } catch (error) {
    if (!CREATED_CONCURRENTLY.includes(errorCode(error))) throw error
  }
}

/** Such as `18.4`, or `18.6 (Debian 18.6-1)`. */
export async function readServerVersion(connectionString: string): Promise<string> {
  const { rows } = await runStatement(connectionString, 'show server_version')
  return String(rows[0]?.server_version)
}

async function runStatement(connectionString: string, statement: string) {
  const client = new pg.Client({
    connectionString,
    application_name: 'signalbox start',
    connectionTimeoutMillis: CONNECT_MILLISECONDS_MAX,
  })
  // A server that exits meanwhile rejects the promises below.
  client.on('error', () => {})
  try {
    await client.connect()
    return await client.query(statement)
  } finally {
    await client.end()
  }
}

function errorCode(error: unknown): string {
  return String((error as { code?: unknown }).code ?? '')
}

function wrongPasswordError(folder: string, cause: unknown): EmbeddedPostgresError {
  return new EmbeddedPostgresError(
    `The password in ${folder}/postgres.password does not match the database beside it: ` +
      'restore the file from when the database was created.',
    { cause },
  )
}

/** The only account of the cluster and the only database in use. */
export const SUPERUSER = 'signalbox'
const DATABASE = 'signalbox'

const PASSWORD_FILE = 'postgres.password'
const PASSWORD_BYTES = 32

/** The password of an existing cluster. Nothing else opens the cluster, so its loss is an error. */
function loadPassword(folder: string): string {
  const password = readPassword(folder)
  if (password) return password
  throw new EmbeddedPostgresError(
    `The database password in ${join(folder, PASSWORD_FILE)} is missing: restore that file from ` +
      `a backup, or move ${join(folder, 'postgres')} away to start with an empty database.`,
  )
}

/** The password for a new cluster: that of an earlier attempt, or a new one. */
export function loadOrCreatePassword(folder: string): string {
  const existing = readPassword(folder)
  if (existing) return existing
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

/** Contains the password: for the pool, never for a log. */
function buildConnectionString(password: string, port: number, database = DATABASE) {
  // Overrides PGSSLMODE of the environment: a server on 127.0.0.1 needs no TLS.
  return `postgres://${SUPERUSER}:${password}@127.0.0.1:${port}/${database}?sslmode=disable`
}
