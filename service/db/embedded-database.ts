import pg from 'pg'
import { DATABASE, embeddedConnectionString, embeddedPassword } from './embedded-password.ts'
import { EmbeddedPostgresError } from './embedded-postgres-error.ts'

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
  const password = embeddedPassword(folder)
  const address = embeddedConnectionString(password, port)
  try {
    await ask(address, 'select 1')
  } catch (error) {
    if (codeOf(error) === WRONG_PASSWORD) throw wrongPassword(folder, error)
    if (codeOf(error) !== NO_SUCH_DATABASE) throw error
    await createDatabase(embeddedConnectionString(password, port, 'postgres'))
  }
  return address
}

async function createDatabase(address: string): Promise<void> {
  try {
    await ask(address, `create database ${DATABASE}`)
  } catch (error) {
    if (!CREATED_MEANWHILE.includes(codeOf(error))) throw error
  }
}

async function ask(connectionString: string, statement: string): Promise<void> {
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

function codeOf(error: unknown): string {
  return String((error as { code?: unknown }).code ?? '')
}

function wrongPassword(folder: string, cause: unknown): EmbeddedPostgresError {
  return new EmbeddedPostgresError(
    `The password in ${folder}/postgres.password does not open the database beside it: ` +
      'restore the file that was there when the database was made.',
    { cause },
  )
}
