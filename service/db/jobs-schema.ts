import { sql } from 'kysely'
import type { Database } from './database.ts'

/** Where graphile-worker keeps its tables, apart from ours. `jobs/store.ts` writes it out. */
export const JOBS_SCHEMA = 'signalbox_jobs'

/** The last migration of the graphile-worker in package.json; a test compares. */
const NEWEST_MIGRATION = 20

/**
 * Makes the tables of the jobs, or brings them to the version that this program knows; `migrate`
 * sees to it that nobody else does at the same time. It needs the right to create schemas in the
 * database.
 */
export async function migrateJobs({ pool }: Database): Promise<void> {
  // Every role reads this file to see how the tables are; only who makes them needs the library.
  const { Logger, runMigrations } = await import('graphile-worker')
  // Whoever migrates hears of a failure by the exception.
  const silence = new Logger(() => () => {})
  await runMigrations({ pgPool: pool, schema: JOBS_SCHEMA, logger: silence })
}

/**
 * How the tables of the jobs are: `missing` some or all, `current`, or changed by a `newer` program
 * in a way that ours cannot work with.
 */
export async function stateOfJobs({ query }: Database): Promise<'missing' | 'current' | 'newer'> {
  const migrations = `${JOBS_SCHEMA}.migrations`
  const { rows: found } = await sql<{ name: string | null }>`
    select to_regclass(${migrations})::text as name`.execute(query)
  if (!found[0]?.name) return 'missing'
  const { rows } = await sql<{ newest: number | null; breaking: number | null }>`
    select max(id) as newest, max(id) filter (where breaking) as breaking
    from ${sql.table(migrations)}`.execute(query)
  const { newest, breaking } = rows[0] ?? {}
  if ((breaking ?? 0) > NEWEST_MIGRATION) return 'newer'
  return (newest ?? 0) < NEWEST_MIGRATION ? 'missing' : 'current'
}
