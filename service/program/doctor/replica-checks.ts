import { findPoolerProblem } from '../../runtime/db/connection-pooler.ts'
import { type Database, isCitusCluster } from '../../runtime/db/database.ts'
import { requireCurrentSchema, SchemaError } from '../../runtime/db/migrate.ts'
import {
  explainMisfit,
  NOT_FOR_CITUS,
  readEnd,
  readReplayed,
} from '../../runtime/db/replica/read-replica.ts'
import { sleep } from '../../runtime/util/wait.ts'
import { type DoctorContext, error, type Finding, ok, warning } from './finding.ts'
import { openForReading } from './store-checks.ts'

/** Explains why a connection failed, in one sentence without the password. */
export type ExplainConnectionError = (databaseUrl: string, cause: unknown) => string

/** A replica that is away is a warning: the store answers what it would. */
export async function examineReplica(
  context: DoctorContext,
  primary: Database,
  explainConnectionError: ExplainConnectionError,
): Promise<Finding[]> {
  const { replicaUrl } = context.settings
  if (replicaUrl === undefined) return []
  const replica = openForReading(replicaUrl)
  try {
    await replica.ping()
    return await checkReplica(context, primary, replica)
  } catch (failure) {
    const said = explainConnectionError(replicaUrl, failure)
    const message = said.replaceAll('DATABASE_URL', 'SIGNALBOX_REPLICA_URL')
    const fix = 'Start it, or correct SIGNALBOX_REPLICA_URL; until then the store answers.'
    return [warning('replica.reachable', message, fix)]
  } finally {
    await replica.close()
  }
}

const STANDBY = 'replica.standby'
const LAG = 'replica.lag'

/** One that answers: whether it is a copy of the store, and how far it is behind. */
async function checkReplica(
  context: DoctorContext,
  primary: Database,
  replica: Database,
): Promise<Finding[]> {
  const problem = await findPoolerProblem(replica)
  if (problem !== null) {
    const fix = 'Give the replica the settings of docs/operations/postgresql.md, as the store.'
    return [error('replica.pooler', problem, fix)]
  }
  if (await isCitusCluster(primary)) {
    return [error(STANDBY, NOT_FOR_CITUS, 'Unset SIGNALBOX_REPLICA_URL.')]
  }
  const misfit = explainMisfit(await readEnd(primary), await readReplayed(replica))
  if (misfit !== null) {
    const fix =
      'Let it lead to a streaming standby of DATABASE_URL, or unset it; until then the store ' +
      'answers every read.'
    return [error(STANDBY, misfit, fix)]
  }
  const lag = await checkLag(context, primary, replica)
  const standby = ok(STANDBY, 'The replica is a standby of the store.')
  // One that is behind does not have the newest migration yet.
  if (lag.severity !== 'ok') return [standby, lag]
  return [standby, lag, await checkSchema(replica)]
}

const TRIES_PER_SECOND = 10

/** Waits until it has what the store had a moment ago, for as long as the service would bear. */
async function checkLag(
  { settings }: DoctorContext,
  primary: Database,
  replica: Database,
): Promise<Finding> {
  const { replicaLagSecondsMax: seconds } = settings
  const { position } = await readEnd(primary)
  for (let tries = 0; tries <= seconds * TRIES_PER_SECOND; tries += 1) {
    const { replayed } = await readReplayed(replica)
    if (replayed !== null && replayed >= position) return ok(LAG, 'The replica has caught up.')
    await sleep(1 / TRIES_PER_SECOND)
  }
  return warning(
    LAG,
    `The replica is more than ${seconds} s behind, so the store answers its reads.`,
    'pg_stat_wal_receiver and pg_stat_replication say whether it receives changes; ' +
      'docs/operations/postgresql.md has the causes of a lag.',
  )
}

async function checkSchema(replica: Database): Promise<Finding> {
  const check = 'replica.schema'
  try {
    await requireCurrentSchema(replica)
    return ok(check, 'The replica has the current schema.')
  } catch (failure) {
    if (!(failure instanceof SchemaError)) throw failure
    const fix = 'Name the same database as in DATABASE_URL, and run "signalbox-server migrate".'
    return error(check, failure.message, fix)
  }
}
