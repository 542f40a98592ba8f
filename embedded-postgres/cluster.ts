import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import {
  lchownSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statfsSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { PostgresBinaries } from './binaries.ts'
import { changeClusterOwner, findClusterOwner } from './cluster-owner.ts'
import { loadOrCreatePassword, SUPERUSER } from './connection.ts'
import {
  describeFullDisk,
  diagnoseServerFailure,
  EmbeddedPostgresError,
  FREE_MEGABYTES_MIN,
} from './embedded-postgres-error.ts'
import { syncFolder } from './private-file.ts'
import { appendToServerLog } from './server-log.ts'
import { accountFileOwner, commandAs, type UnprivilegedAccount } from './unprivileged-account.ts'

/** The location of the embedded server, and the account that it runs under. */
export interface ClusterLocation {
  binaries: PostgresBinaries
  account: UnprivilegedAccount
  /** The data folder, real path. */
  folder: string
  /** Of the server, instead of the usual ones. */
  settings?: Readonly<Record<string, string>> | undefined
}

/** Creates the cluster of a data folder if it is missing, and makes its account the owner. */
export async function ensureCluster(location: ClusterLocation): Promise<string> {
  const cluster = clusterPath(location.folder)
  const owner = findClusterOwner(cluster)
  if (owner === null) {
    await createCluster(location, cluster)
    return cluster
  }
  refuseOtherVersion(cluster, location.binaries.majorVersion)
  const target = accountFileOwner(location.account)
  if (owner !== target.uid || lstatSync(cluster).uid !== target.uid) {
    changeClusterOwner(cluster, owner, target)
  }
  return cluster
}

export function clusterPath(folder: string): string {
  return join(folder, 'postgres')
}

function refuseOtherVersion(cluster: string, majorVersion: number): void {
  const version = readFileSync(join(cluster, 'PG_VERSION'), 'utf8').trim()
  if (version === String(majorVersion)) return
  throw new EmbeddedPostgresError(
    `The database in ${cluster} was created by PostgreSQL ${version} and this Signalbox includes ` +
      `PostgreSQL ${majorVersion}: move it with pg_dump and psql, or set DATABASE_URL to ` +
      `a PostgreSQL ${version} that serves it.`,
  )
}

/** Each attempt has its own staging folder, so that none continues one that was killed. */
const STAGING_PREFIX = 'postgres.new-'
const INITDB_MILLISECONDS_MAX = 300_000
const OUTPUT_BYTES_MAX = 1024 * 1024

/**
 * Creates the cluster in a staging folder and renames it once it is complete and on the disk, so
 * that `postgres` is either missing or complete, also after a crash.
 */
async function createCluster(location: ClusterLocation, cluster: string): Promise<void> {
  const { account, folder } = location
  refuseForeignFiles(cluster)
  refuseFullDisk(folder)
  removeStagingFolders(folder)
  const password = loadOrCreatePassword(folder)
  const staging = join(folder, `${STAGING_PREFIX}${randomUUID()}`)
  try {
    mkdirSync(staging, { mode: 0o700 })
    const passwordFile = join(staging, 'password')
    writeFileSync(passwordFile, password, { mode: 0o600, flag: 'wx' })
    chownToAccount(account, passwordFile)
    chownToAccount(account, staging)
    await runInitdb(location, join(staging, 'cluster'), passwordFile)
    renameSync(join(staging, 'cluster'), cluster)
    syncFolder(folder)
  } finally {
    removeStagingFolders(folder)
  }
}

function refuseForeignFiles(cluster: string): void {
  const found = lstatSync(cluster, { throwIfNoEntry: false })
  if (!found || (found.isDirectory() && readdirSync(cluster).length === 0)) return
  throw new EmbeddedPostgresError(
    `${cluster} exists but contains no database: move it away, or set SIGNALBOX_DATA_DIR to ` +
      'another folder.',
  )
}

function refuseFullDisk(folder: string): void {
  if (readFreeMegabytes(folder) >= FREE_MEGABYTES_MIN) return
  throw new EmbeddedPostgresError(describeFullDisk(folder))
}

/** An initdb of a killed service may still write to a folder, which the next start removes. */
function removeStagingFolders(folder: string): void {
  for (const name of readdirSync(folder).filter(name => name.startsWith(STAGING_PREFIX))) {
    const path = join(folder, name)
    try {
      // Take ownership first, so that no other account can swap a folder for a link meanwhile.
      if (process.geteuid?.() === 0) changeClusterOwner(path, lstatSync(path).uid, ROOT)
      rmSync(path, { recursive: true, force: true })
    } catch {
      // A staging folder costs only disk space.
    }
  }
}

const ROOT = { uid: 0, gid: 0 }

function chownToAccount(account: UnprivilegedAccount, path: string): void {
  if (account.kind === 'uid') lchownSync(path, account.uid, account.gid)
}

async function runInitdb(location: ClusterLocation, cluster: string, passwordFile: string) {
  const { account, binaries, folder } = location
  const command = commandAs(account, binaries.initdb, [
    ...INITDB_OPTIONS,
    `--username=${SUPERUSER}`,
    `--pwfile=${passwordFile}`,
    `--pgdata=${cluster}`,
  ])
  try {
    await promisify(execFile)(command.file, command.args, {
      ...command.options,
      timeout: INITDB_MILLISECONDS_MAX,
      maxBuffer: OUTPUT_BYTES_MAX,
    })
  } catch (cause) {
    const { stdout = '', stderr = '' } = cause as { stdout?: string; stderr?: string }
    const output = `${stdout}${stderr}`
    appendToServerLog(folder, output)
    throw diagnoseServerFailure(output, { folder, cluster: folder, port: 0 }).error
  }
}

/** Text sorts by code point, the same on every machine and C library. */
const INITDB_OPTIONS = [
  '--encoding=UTF8',
  '--locale-provider=builtin',
  '--builtin-locale=C.UTF-8',
  '--locale=C',
  '--auth=scram-sha-256',
  '--no-instructions',
]

/** What an ordinary account may still write to the disk of a folder. */
export function readFreeMegabytes(folder: string): number {
  const { bavail, bsize } = statfsSync(folder)
  return (bavail * bsize) / (1024 * 1024)
}
