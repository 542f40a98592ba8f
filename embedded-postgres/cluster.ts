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
  diagnoseServerFailure,
  diskFullSentence,
  EmbeddedPostgresError,
  FREE_MEGABYTES_MIN,
} from './embedded-postgres-error.ts'
import { syncFolder } from './private-file.ts'
import { appendToServerLog } from './server-log.ts'
import { accountFileOwner, commandAs, type UnprivilegedAccount } from './unprivileged-account.ts'

/** Where the embedded server lives and under which account it runs. */
export interface ClusterLocation {
  binaries: PostgresBinaries
  account: UnprivilegedAccount
  /** The data folder, real path. */
  folder: string
}

/** The cluster of a data folder, made when it is missing, in the hands of its account. */
export async function ensureCluster(place: ClusterLocation): Promise<string> {
  const cluster = clusterPath(place.folder)
  const owner = findClusterOwner(cluster)
  if (owner === null) {
    await createCluster(place, cluster)
    return cluster
  }
  refuseOtherVersion(cluster, place.binaries.majorVersion)
  const target = accountFileOwner(place.account)
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
    `The database in ${cluster} was made by PostgreSQL ${version} and this Signalbox brings ` +
      `PostgreSQL ${majorVersion}: carry it over with pg_dump and psql, or set DATABASE_URL to ` +
      `a PostgreSQL ${version} that serves it.`,
  )
}

/** Names of half-made clusters; each try has its own, so a killed one is never written on. */
const STAGING_PREFIX = 'postgres.new-'
const INITDB_MILLISECONDS_MAX = 300_000
const OUTPUT_BYTES_MAX = 1024 * 1024

/**
 * Makes the cluster aside and renames it when it is complete and on the disk. Whatever stops us
 * in between, `postgres` is either not there or whole.
 */
async function createCluster(place: ClusterLocation, cluster: string): Promise<void> {
  const { account, folder } = place
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
    await runInitdb(place, join(staging, 'cluster'), passwordFile)
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
    `${cluster} is there but holds no database: move it away, or set SIGNALBOX_DATA_DIR to ` +
      'another folder.',
  )
}

function refuseFullDisk(folder: string): void {
  if (readFreeMegabytes(folder) >= FREE_MEGABYTES_MIN) return
  throw new EmbeddedPostgresError(diskFullSentence(folder))
}

/** What cannot be removed now (an initdb of a killed service still writes) goes the next time. */
function removeStagingFolders(folder: string): void {
  for (const name of readdirSync(folder).filter(name => name.startsWith(STAGING_PREFIX))) {
    const path = join(folder, name)
    try {
      // In our own hands first: nobody can then swap a folder for a link while we remove.
      if (process.geteuid?.() === 0) changeClusterOwner(path, lstatSync(path).uid, ROOT)
      rmSync(path, { recursive: true, force: true })
    } catch {
      // Half-made clusters cost disk space and nothing else.
    }
  }
}

const ROOT = { uid: 0, gid: 0 }

function chownToAccount(account: UnprivilegedAccount, path: string): void {
  if (account.way === 'uid') lchownSync(path, account.uid, account.gid)
}

async function runInitdb(place: ClusterLocation, cluster: string, passwordFile: string) {
  const { account, binaries, folder } = place
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

/** Text sorts by code point, the same on every machine, whatever C library it has. */
const INITDB_OPTIONS = [
  '--encoding=UTF8',
  '--locale-provider=builtin',
  '--builtin-locale=C.UTF-8',
  '--locale=C',
  '--auth=scram-sha-256',
  '--no-instructions',
]

/** What the disk of a folder still takes from an ordinary account. */
export function readFreeMegabytes(folder: string): number {
  const { bavail, bsize } = statfsSync(folder)
  return (bavail * bsize) / (1024 * 1024)
}
