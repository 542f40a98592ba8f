import { availableParallelism } from 'node:os'
import { explainPooler, findConnectionPooler } from '../../runtime/db/connection-pooler.ts'
import { type Database, openDatabase, ROLE_SETTINGS } from '../../runtime/db/database.ts'
import { EmptyStoreError, requireCurrentSchema, SchemaError } from '../../runtime/db/migrate.ts'
import { countHttpConnections, countHttpWorkers } from '../../runtime/settings/read-settings.ts'
import {
  computeRetentionCutoff,
  findMissingPartitions,
  hasPartitions,
  readRetentionLag,
} from '../../signals/events/partition-store.ts'
import { type DoctorContext, error, type Finding, ok, skipped, warning } from './finding.ts'
import { listOwnerlessWorkspaces, readStoreServer, type StoreServer } from './server-store.ts'

/** Opens the store for reading only: a doctor changes nothing. */
export function openForReading(connectionString: string): Database {
  return openDatabase({
    connectionString,
    connectionsMax: 2,
    applicationName: 'signalbox doctor',
    onIdleError: () => {},
    isReadOnly: true,
  })
}

export interface StoreExamination {
  findings: Finding[]
  /** Null when the rest of the store cannot be read. */
  server: StoreServer | null
}

/** The server, then the schema; what needs a current schema comes after both. */
export async function checkStore(
  context: DoctorContext,
  database: Database,
): Promise<StoreExamination> {
  const schema = await checkSchema(database)
  if (schema.check === 'store.version') return { findings: [schema], server: null }
  const pooler = await checkPooler(database)
  if (pooler.severity === 'error') return { findings: [pooler], server: null }
  const before = context.now()
  const server = await readStoreServer(database)
  const findings = [
    ok('store.version', `The store is PostgreSQL ${server.version}.`),
    pooler,
    schema,
    checkDurability(server),
    checkBackups(server),
    checkConnections(context, server),
    checkClock(server, { before, after: context.now() }),
    checkTimeZone(server),
  ]
  if (schema.severity !== 'ok') return { findings, server: null }
  findings.push(await checkPartitions(context, database), await checkRetention(context, database))
  findings.push(await checkOwners(database))
  return { findings, server }
}

async function checkPooler(database: Database): Promise<Finding> {
  const check = 'store.pooler'
  const pooler = await findConnectionPooler(database, ROLE_SETTINGS)
  if (pooler === null) return ok(check, 'No connection pooler is in between.')
  const sentence = explainPooler(pooler)
  const fix = 'docs/operations/postgresql.md has both settings of PgBouncer and those of the role.'
  if (sentence !== null) return error(check, sentence, fix)
  if (pooler.mode === 'session') return ok(check, 'A connection pooler in session mode is used.')
  return warning(
    check,
    'A connection pooler in transaction mode is used: notifications of PostgreSQL do not arrive.',
    'Workers and live views then see news when they look again; session mode has no such delay.',
  )
}

async function checkSchema(database: Database): Promise<Finding> {
  try {
    await requireCurrentSchema(database)
    return ok('store.schema', 'The schema is current.')
  } catch (failure) {
    if (!(failure instanceof SchemaError)) throw failure
    const { message } = failure
    if (message.startsWith('Signalbox needs PostgreSQL')) {
      return error('store.version', message, 'Move the data to a supported version with pg_dump.')
    }
    if (failure instanceof EmptyStoreError) {
      const fix =
        'Run "signalbox-server all", or "signalbox-server migrate" before serve and deliver.'
      return warning('store.schema', 'The database is empty, as before the first start.', fix)
    }
    return error('store.schema', message, 'docs/operations/upgrade.md has the order of the steps.')
  }
}

/** With one of them off, a power cut loses events that were answered with 202. */
function checkDurability({ unsafe }: StoreServer): Finding {
  const check = 'store.durability'
  if (unsafe.length === 0) return ok(check, 'An answered event is on disk.')
  return error(
    check,
    `A crash of the machine loses answered events: ${unsafe.join(', ')}.`,
    'Set them to on in postgresql.conf and for the database, and reload the configuration.',
  )
}

/** Dumps are made elsewhere, so their absence cannot be seen from here. */
function checkBackups({ archiving }: StoreServer): Finding {
  const check = 'store.backups'
  switch (archiving) {
    case 'works':
      return ok(check, 'The store archives its WAL.')
    case 'fails':
      return error(
        check,
        'The store could not archive its last WAL file: a restore ends before it, and the disk ' +
          'fills up.',
        'The log of PostgreSQL has the error of its archive_command.',
      )
    case 'off':
      return skipped(
        check,
        'The store archives no WAL, and dumps cannot be seen from here: docs/operations/backup.md.',
      )
  }
}

/** Migrations, jobs and listening connections of one process. */
const OTHER_CONNECTIONS = 8

/** One process that runs everything; each further one needs as many. */
function checkConnections({ settings }: DoctorContext, server: StoreServer): Finding {
  const check = 'store.connections'
  const { databaseConnectionsMax } = settings
  // The most that it may take: some systems cannot share a port, and run one worker.
  const workers = countHttpWorkers(settings, { cores: availableParallelism(), canReusePort: true })
  const forHttp = countHttpConnections(databaseConnectionsMax, workers)
  const needed = forHttp + databaseConnectionsMax + OTHER_CONNECTIONS
  const { connectionsMax, connectionsOpen } = server
  const message =
    `A process needs up to ${needed} connections, and the store allows ${connectionsMax}; ` +
    `${connectionsOpen} are open now.`
  if (needed <= connectionsMax) return ok(check, message)
  return error(
    check,
    message,
    'Raise max_connections (or the limit of the account or the database), or lower ' +
      'SIGNALBOX_DATABASE_CONNECTIONS_MAX and SIGNALBOX_HTTP_WORKERS.',
  )
}

const CLOCK_SECONDS = { warning: 2, error: 60 }

/** Leases, schedules and partitions compare times of the processes and of the store. */
function checkClock(
  { clockSeconds }: StoreServer,
  { before, after }: { before: Date; after: Date },
): Finding {
  const check = 'store.clock'
  const early = before.getTime() / 1_000 - clockSeconds
  const late = clockSeconds - after.getTime() / 1_000
  const seconds = Math.max(0, early, late)
  if (seconds < CLOCK_SECONDS.warning) return ok(check, 'The clocks agree.')
  const message = `The clocks of this machine and of the store differ by ${Math.round(seconds)} s.`
  const fix = 'Synchronize both with NTP.'
  return seconds < CLOCK_SECONDS.error ? warning(check, message, fix) : error(check, message, fix)
}

function checkTimeZone({ timeZone }: StoreServer): Finding {
  const check = 'store.time_zone'
  if (/^(etc\/)?(utc|gmt|universal|zulu)$/i.test(timeZone)) return ok(check, 'The store uses UTC.')
  return warning(
    check,
    `The time zone of the store is ${timeZone}: days of your own queries differ from the UTC ` +
      'days of reports and retention.',
    "Run alter database NAME set timezone = 'UTC'.",
  )
}

const PARTITION_DAYS = 2

async function checkPartitions({ now }: DoctorContext, database: Database): Promise<Finding> {
  const check = 'store.partitions'
  const missing = await findMissingPartitions(database, now(), PARTITION_DAYS)
  if (missing.length === 0) return ok(check, 'The partitions of today and tomorrow exist.')
  if (!(await hasPartitions(database))) {
    return warning(
      check,
      'The partitions of today and tomorrow do not exist, as before the first start.',
      'Start the service: it creates them.',
    )
  }
  return error(
    check,
    `Partitions are missing: ${missing.join(', ')}. New rows go to one that does not expire.`,
    'Start the service or a worker with SIGNALBOX_JOBS on: both create them.',
  )
}

const OWNERLESS_MAX = 5

async function checkOwners(database: Database): Promise<Finding> {
  const check = 'store.owners'
  const found = await listOwnerlessWorkspaces(database, OWNERLESS_MAX + 1)
  if (found.length === 0) return ok(check, 'Every workspace has an owner who can sign in.')
  const named = found.slice(0, OWNERLESS_MAX).join(', ')
  const rest = found.length > OWNERLESS_MAX ? ' and others' : ''
  return warning(
    check,
    `No owner can open these workspaces: ${named}${rest}.`,
    'Add one with "signalbox-server people add-owner ADDRESS --workspace ID".',
  )
}

/** Expiry runs once a day, and a backup may delay it by a day. */
const LAG_DAYS_MAX = 2

async function checkRetention(context: DoctorContext, database: Database): Promise<Finding> {
  const check = 'store.retention'
  const { settings, now } = context
  const { payloads, ledger } = await readRetentionLag(database, {
    payloads: computeRetentionCutoff(now(), { days: settings.payloadRetentionDays }),
    ledger: computeRetentionCutoff(now(), { months: settings.ledgerRetentionMonths }),
  })
  const days = Math.max(payloads, ledger)
  if (days <= LAG_DAYS_MAX) return ok(check, 'What has expired is deleted.')
  return error(
    check,
    `Personal data or events should have been deleted ${days} days ago.`,
    'Run a worker with SIGNALBOX_JOBS on; the log says why the jobs expire-* fail.',
  )
}
