import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { closeSync, readdirSync, statSync } from 'node:fs'
import { totalmem } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { PostgresBinaries } from './binaries.ts'
import { type ClusterLocation, readFreeMegabytes } from './cluster.ts'
import {
  diagnoseServerFailure,
  EmbeddedPostgresError,
  findLastFatalLine,
  OTHER_DATABASE_HINT,
  type ServerFailure,
  type ServerLocation,
} from './embedded-postgres-error.ts'
import { findPostmaster, type Postmaster, stopServer, waitUntil } from './postmaster.ts'
import { openServerLog, readLogSince, type ServerLog } from './server-log.ts'
import { commandAs, type UnprivilegedAccount } from './unprivileged-account.ts'

type Launch =
  | { outcome: 'ready'; postmaster: Postmaster; ended: Promise<string> }
  | ({ outcome: 'failed' } & ServerFailure)

/** After a crash the server replays up to 2 GB of WAL before it accepts connections. */
export const RECOVERY_SECONDS_MAX = 900

/**
 * Starts the server in its own session, so that neither Ctrl-C nor the exit of this process stops
 * it, and waits until it accepts connections. `ended` resolves to how it ended.
 */
export async function launchServer(
  { account, binaries, folder, settings: changes }: ClusterLocation,
  cluster: string,
  port: number,
): Promise<Launch> {
  const settings = await buildServerArguments({ account, binaries, cluster, port, changes })
  const log = openServerLog(folder)
  const command = commandAs(account, binaries.postgres, ['-D', cluster, ...settings])
  const child = spawn(command.file, command.args, {
    ...command.options,
    detached: true,
    stdio: ['ignore', log.file, log.file],
  })
  closeSync(log.file)
  child.unref()
  const exit = watchExit(child)
  const postmaster = await waitForReadyServer(child, cluster, exit)
  if (postmaster) return { outcome: 'ready', postmaster, ended: exit.description }
  if (exit.error) {
    throw new EmbeddedPostgresError(
      `${command.file} cannot be started here: ${OTHER_DATABASE_HINT}`,
      { cause: exit.error },
    )
  }
  return { outcome: 'failed', ...diagnoseExit(log, { folder, cluster, port }) }
}

const WRITABLE_MEGABYTES_MIN = 1

function diagnoseExit(log: ServerLog, location: ServerLocation): ServerFailure {
  const output = readLogSince(log.path, log.startsAt)
  // On a full disk the server cannot even log why it exits.
  const isDiskFull =
    findLastFatalLine(output) === null &&
    readFreeMegabytes(location.folder) < WRITABLE_MEGABYTES_MIN
  return diagnoseServerFailure(isDiskFull ? 'No space left on device' : output, location)
}

interface ChildExit {
  hasExited: boolean
  /** Why the program could not be started. */
  error: Error | null
  /** How it ended. */
  description: Promise<string>
}

function watchExit(child: ChildProcess): ChildExit {
  const { promise, resolve } = Promise.withResolvers<string>()
  const exit: ChildExit = { hasExited: false, error: null, description: promise }
  child.once('error', error => {
    exit.hasExited = true
    exit.error = error
  })
  child.once('exit', (code, signal) => {
    exit.hasExited = true
    resolve(signal ? `was ended by signal ${signal}` : `exited with code ${code}`)
  })
  return exit
}

/** The server once it accepts connections, or null when it exited instead. */
async function waitForReadyServer(
  child: ChildProcess,
  cluster: string,
  exit: ChildExit,
): Promise<Postmaster | null> {
  const findServer = () => {
    const found = findPostmaster(cluster)
    return found?.processId === child.pid ? found : null
  }
  const isSettled = () => exit.hasExited || findServer()?.status === 'ready'
  const limits = { timeoutSeconds: RECOVERY_SECONDS_MAX, intervalMilliseconds: 25 }
  if (await waitUntil(isSettled, limits)) return exit.hasExited ? null : findServer()
  const server = findServer()
  if (server) await stopServer(server)
  throw new EmbeddedPostgresError(
    `PostgreSQL was not ready within ${RECOVERY_SECONDS_MAX} seconds: see postgres.log beside ` +
      `${cluster}, then start again.`,
  )
}

interface ServerArgumentsInput {
  binaries: PostgresBinaries
  account: UnprivilegedAccount
  cluster: string
  port: number
  changes: ClusterLocation['settings']
}

/** The settings are arguments, so that they belong to the program and not to the cluster. */
async function buildServerArguments(input: ServerArgumentsInput): Promise<string[]> {
  const settings = {
    ...SETTINGS,
    wal_compression: (await canCompressWithLz4(input)) ? 'lz4' : 'off',
    shared_buffers: `${chooseSharedBuffers(input.cluster)}MB`,
    ...input.changes,
    port: String(input.port),
  }
  return Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
}

const SETTINGS = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  password_encryption: 'scram-sha-256',
  max_connections: '100',
  fsync: 'on',
  synchronous_commit: 'on',
  full_page_writes: 'on',
  autovacuum: 'on',
  // The first change of a page after a checkpoint writes the whole page, so checkpoints are rare.
  checkpoint_timeout: '30min',
  min_wal_size: '256MB',
  max_wal_size: '4GB',
  timezone: 'UTC',
  log_timezone: 'UTC',
  lc_messages: 'C',
  logging_collector: 'off',
  log_destination: 'stderr',
  log_checkpoints: 'off',
  // Details and statements contain values of rows, and no identifier may reach a log.
  log_error_verbosity: 'terse',
  log_min_error_statement: 'panic',
} as const

const BUFFER_MEGABYTES_MIN = 128
const MEGABYTE = 1_048_576

/**
 * An eighth of the data in megabytes, but at most a quarter of the memory and half of what is free.
 * The indexes of event IDs, orders and visitors, to which every event adds in random order, are a
 * tenth of a store. When they do not fit, each event reads and writes three pages
 * (docs/decisions/0073). A small store gets no more than it needs: unused buffers cost memory too.
 */
function chooseSharedBuffers(cluster: string): number {
  const base = readdirSync(join(cluster, 'base'), { recursive: true, withFileTypes: true })
  const bytes = base
    .filter(entry => entry.isFile())
    .reduce((sum, file) => sum + statSync(join(file.parentPath, file.name)).size, 0)
  const memory = Math.min(totalmem(), process.constrainedMemory() || Number.POSITIVE_INFINITY)
  const bounds = [bytes / 8, memory / 4, process.availableMemory() / 2]
  const megabytes = Math.floor(Math.min(...bounds) / MEGABYTE)
  return Math.max(BUFFER_MEGABYTES_MIN, megabytes)
}

const PROBE_MILLISECONDS_MAX = 20_000

/** The npm build for Linux came without LZ4. The older pglz costs too much CPU. */
async function canCompressWithLz4({
  binaries,
  account,
  cluster,
}: ServerArgumentsInput): Promise<boolean> {
  const probe = ['-D', cluster, '-c', 'wal_compression=lz4', '-C', 'wal_compression']
  const { file, args, options } = commandAs(account, binaries.postgres, probe)
  try {
    await promisify(execFile)(file, args, { ...options, timeout: PROBE_MILLISECONDS_MAX })
    return true
  } catch {
    return false
  }
}
