import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { Kysely, PostgresDialect, sql } from 'kysely'
import { type Migration, Migrator } from 'kysely/migration'
import pg from 'pg'
import { LEDGER_UPGRADE } from '../../service/signals/events/ledger-upgrade/upgrade-store.ts'
import { createDatabaseFromTemplate } from '../fixtures/database.ts'

const FOLDER = join(import.meta.dirname, '../../service/migrations')

/** The connection options of version 0.5, which sets no search path. */
const OPTIONS = ['enable_seqscan=off', 'enable_mergejoin=off', 'random_page_cost=1.1', 'jit=off']
  .map(setting => `-c ${setting}`)
  .join(' ')

export interface EarlierStore {
  connectionString: string
  pool: pg.Pool
}

/** A database with the schema of version 0.5, and connections with the options of that version. */
export async function createEarlierStore(test: TestContext): Promise<EarlierStore> {
  const connectionString = await createDatabaseFromTemplate(test, 'template0')
  const pool = new pg.Pool({ connectionString, max: 12, options: OPTIONS })
  pool.on('error', () => {})
  test.after(() => pool.end())
  const db = new Kysely<unknown>({ dialect: new PostgresDialect({ pool }) })
  const { error } = await new Migrator({
    db,
    provider: { getMigrations: async () => migrations() },
  }).migrateToLatest()
  if (error) throw error
  return { connectionString, pool }
}

function migrations(): Record<string, Migration> {
  const names = readdirSync(FOLDER).map(name => name.replace(/\.sql$/, ''))
  return Object.fromEntries(
    names
      .filter(name => name <= LEDGER_UPGRADE.previous)
      .map(name => {
        const text = readFileSync(join(FOLDER, `${name}.sql`), 'utf8')
        const up = async (db: Kysely<unknown>) => void (await sql.raw(text).execute(db))
        return [name, { up }]
      }),
  )
}

/** Adds trackers, each with one destination of the same ID. */
export async function addTrackers({ pool }: EarlierStore, trackerIds: readonly string[]) {
  await pool.query(`insert into workspaces (name, created_at) values ('Earlier', now())`)
  await pool.query(
    `insert into trackers (id, workspace_id, name, created_at)
     select tracker, 1, 'Earlier', now() from unnest($1::uuid[]) tracker`,
    [trackerIds],
  )
  await pool.query(
    `insert into destinations (tracker_id, id, type, credential_source, config, sealed_credential,
       status, created_at, updated_at)
     select id, id, 'meta', 'oauth_connection', '{"dataset_id":"1"}', '', 'active', now(), now()
     from trackers`,
  )
  await pool.query('insert into delivery_id_counters select id, 0 from trackers')
}

/** Creates the partition of a day (YYYY-MM-DD) like version 0.5. */
export async function addPayloadDay({ pool }: Pick<EarlierStore, 'pool'>, day: string) {
  const name = `event_payloads_${day.replaceAll('-', '_')}`
  await pool.query(`create table if not exists ${name} partition of event_payloads
    for values from ('${day}') to (date '${day}' + 1)`)
}
