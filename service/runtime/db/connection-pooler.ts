import { randomUUID } from 'node:crypto'
import type pg from 'pg'
import { type Database, ROLE_SETTINGS } from './database.ts'

/** A pooler such as PgBouncer between this process and PostgreSQL. */
export interface ConnectionPooler {
  /** `transaction`: a connection may change its server between two statements. */
  mode: 'session' | 'transaction'
  /** Whether a prepared statement follows its connection to another server. */
  keepsPreparedStatements: boolean
  /** Settings of the session that did not arrive, such as `search_path=signalbox_store,public`. */
  missingSettings: string[]
}

/** A busy pooler may give another connection of its own in between. */
const TRIES_MAX = 5

/** Returns null for a direct connection. Changes nothing. */
export async function findConnectionPooler(
  { pool }: Pick<Database, 'pool'>,
  settings: readonly string[],
): Promise<ConnectionPooler | null> {
  const clients: pg.PoolClient[] = []
  try {
    clients.push(await pool.connect())
    const [first] = clients as [pg.PoolClient]
    // A pooler gives its clients numbers of its own, to cancel statements by.
    const { processID } = first as unknown as { processID: number }
    if ((await readServerProcess(first)) === processID) return null
    const missingSettings = await findMissingSettings(first, settings)
    clients.push(await pool.connect())
    const [, second] = clients as [pg.PoolClient, pg.PoolClient]
    for (let tries = 0; tries < TRIES_MAX; tries += 1) {
      const keeps = await movePreparedStatement(first, second)
      if (keeps === null) continue
      return { mode: 'transaction', keepsPreparedStatements: keeps, missingSettings }
    }
    return { mode: 'session', keepsPreparedStatements: true, missingSettings }
  } finally {
    // Their prepared statements would stay.
    for (const client of clients) client.release(true)
  }
}

async function readServerProcess(client: pg.PoolClient): Promise<number> {
  const { rows } = await client.query('select pg_backend_pid() as id')
  return rows[0].id
}

async function findMissingSettings(
  client: pg.PoolClient,
  settings: readonly string[],
): Promise<string[]> {
  const missing: string[] = []
  for (const setting of settings) {
    const [name = '', wanted] = setting.split('=')
    const { rows } = await client.query('select current_setting($1::text) as value', [name])
    if (normalize(rows[0].value) !== normalize(wanted ?? '')) missing.push(setting)
  }
  return missing
}

/** PostgreSQL shows 4000 milliseconds as `4s`, and a list with spaces. */
function normalize(value: string): string {
  const seconds = /^(\d+)s$/.exec(value)?.[1]
  if (seconds !== undefined) return `${seconds}000`
  return value === '1min' ? '60000' : value.replaceAll(' ', '')
}

/**
 * Prepares a statement on the first connection, and occupies its server by the second one. Returns
 * whether the statement still works on another server; null when the server did not change.
 */
async function movePreparedStatement(
  first: pg.PoolClient,
  second: pg.PoolClient,
): Promise<boolean | null> {
  const statement = { name: `pooler-${randomUUID()}`, text: 'select pg_backend_pid() as id' }
  const before = (await first.query(statement)).rows[0].id
  await second.query('begin')
  try {
    await readServerProcess(second)
    const { rows } = await first.query(statement)
    return rows[0].id === before ? null : true
  } catch (error) {
    if (LOST_STATEMENT.has(String((error as { code?: unknown }).code))) return false
    throw error
  } finally {
    await second.query('rollback')
  }
}

/** It does not exist on this server, or another client has prepared one of the same name there. */
export const LOST_STATEMENT: ReadonlySet<string> = new Set(['26000', '42P05'])

/** Why requests would fail behind the pooler of a database; null without a pooler or a problem. */
export async function findPoolerProblem(database: Database): Promise<string | null> {
  const pooler = await findConnectionPooler(database, ROLE_SETTINGS)
  return pooler && explainPooler(pooler)
}

/** What is wrong and what to do, in one sentence; null when the pooler can be used. */
export function explainPooler({
  mode,
  keepsPreparedStatements,
  missingSettings,
}: ConnectionPooler): string | null {
  if (!keepsPreparedStatements) {
    return (
      'A connection pooler in transaction mode loses prepared statements: set ' +
      'pool_mode = session, or from PgBouncer 1.21 on max_prepared_statements = 200 ' +
      '(docs/operations/postgresql.md).'
    )
  }
  if (missingSettings.length === 0) return null
  return (
    `A connection pooler in ${mode} mode drops settings of the connection: give them to the role ` +
    `with "alter role NAME set ...": ${missingSettings.join(', ')} ` +
    '(docs/operations/postgresql.md).'
  )
}
