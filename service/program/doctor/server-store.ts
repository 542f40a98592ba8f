import type { Database } from '../../runtime/db/database.ts'

/** What the PostgreSQL says about itself. */
export interface StoreServer {
  version: string
  timeZone: string
  /** The settings by which an answered event is on disk, and their values where they are wrong. */
  unsafe: string[]
  /** What the server does with its WAL: whether it archives it, and what last happened. */
  archiving: 'off' | 'works' | 'fails'
  /** Seconds since 1970, by the clock of the server. */
  clockSeconds: number
  /** Connections that this account may have open in this database; the lowest limit counts. */
  connectionsMax: number
  /** Connections to the server that are open now, of all its users. */
  connectionsOpen: number
  /** Names of the roles of Signalbox that are connected now, such as `deliver`. */
  roles: string[]
}

/** The first active workspaces that no enabled owner can open, by ID. */
export async function listOwnerlessWorkspaces(
  { pool }: Database,
  limit: number,
): Promise<number[]> {
  const { rows } = await pool.query({
    text: `select id from workspaces
           where status = 'active' and not exists (
             select 1 from members
             join people.users person on person.id = members.user_id
             where members.workspace_id = workspaces.id
               and members.role = 'owner' and person.status = 'active'
           )
           order by id limit $1::integer`,
    values: [limit],
    query_timeout: QUERY_TIMEOUT_MILLISECONDS,
  } as { text: string })
  return rows.map(({ id }) => Number(id))
}

const DURABLE = ['fsync', 'full_page_writes', 'synchronous_commit']
const QUERY_TIMEOUT_MILLISECONDS = 5_000

/** Reads the settings and the activity of the server. Needs no privilege. */
export async function readStoreServer({ pool }: Database): Promise<StoreServer> {
  const { rows } = await pool.query({
    text: `select current_setting('server_version') as "version",
             -- As sessions of other clients get it; this one may differ.
             current_setting('TimeZone') as "timeZone",
             array(
               select name || ' = ' || setting from pg_settings
               where name = any($1::text[]) and setting = 'off' order by name
             ) as "unsafe",
             (select case
                when current_setting('archive_mode') = 'off' then 'off'
                when last_failed_time > coalesce(last_archived_time, '-infinity') then 'fails'
                else 'works' end
              from pg_stat_archiver) as "archiving",
             extract(epoch from clock_timestamp())::float8 as "clockSeconds",
             (select least(
                current_setting('max_connections')::int
                  - current_setting('superuser_reserved_connections')::int,
                nullif(role.rolconnlimit, -1),
                nullif(database.datconnlimit, -1))
              from pg_roles role, pg_database database
              where role.rolname = current_user and database.datname = current_database()
             )::int as "connectionsMax",
             (select count(*) from pg_stat_activity where datid is not null)::int
               as "connectionsOpen",
             array(
               select distinct substring(application_name from '^signalbox (\\w+)$')
               from pg_stat_activity
               where datname = current_database() and application_name like 'signalbox %'
             ) as "roles"`,
    values: [DURABLE],
    query_timeout: QUERY_TIMEOUT_MILLISECONDS,
  } as { text: string })
  return rows[0]
}
