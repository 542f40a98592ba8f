import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { closeSync } from 'node:fs'
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

/** After a crash the server replays up to 2 GB of its log before it lets anybody in. */
export const RECOVERY_SECONDS_MAX = 900

/**
 * Starts the server in a session of its own, so that neither Ctrl-C nor our death ends it, and
 * waits until it lets clients in. `ended` says how it ended, once it has.
 */
export async function launchServer(
  { account, binaries, folder }: ClusterLocation,
  cluster: string,
  port: number,
): Promise<Launch> {
  const settings = await buildServerArguments({ account, binaries, cluster, port })
  const log = openServerLog(folder)
  const command = commandAs(account, binaries.postgres, ['-D', cluster, ...settings])
  const child = spawn(command.file, command.args, {
    ...command.options,
    detached: true,
    stdio: ['ignore', log.file, log.file],
  })
  closeSync(log.file)
  child.unref()
  const end = watchExit(child)
  const postmaster = await waitForReadyServer(child, cluster, end)
  if (postmaster) return { outcome: 'ready', postmaster, ended: end.sentence }
  if (end.error) {
    throw new EmbeddedPostgresError(
      `${command.file} cannot be started here: ${OTHER_DATABASE_HINT}`,
      {
        cause: end.error,
      },
    )
  }
  return { outcome: 'failed', ...diagnoseExit(log, { folder, cluster, port }) }
}

const WRITABLE_MEGABYTES_MIN = 1

function diagnoseExit(log: ServerLog, place: ServerLocation): ServerFailure {
  const words = readLogSince(log.path, log.startsAt)
  // On a disk without a free block the server cannot even write down why it ends.
  const isSilenced =
    findLastFatalLine(words) === null && readFreeMegabytes(place.folder) < WRITABLE_MEGABYTES_MIN
  return diagnoseServerFailure(isSilenced ? 'No space left on device' : words, place)
}

interface ChildExit {
  hasExited: boolean
  /** The program could not even be started. */
  error: Error | null
  sentence: Promise<string>
}

function watchExit(child: ChildProcess): ChildExit {
  const { promise, resolve } = Promise.withResolvers<string>()
  const end: ChildExit = { hasExited: false, error: null, sentence: promise }
  child.once('error', error => {
    end.hasExited = true
    end.error = error
  })
  child.once('exit', (code, signal) => {
    end.hasExited = true
    resolve(signal ? `ended by the signal ${signal}` : `ended with the code ${code}`)
  })
  return end
}

/** The server once it lets clients in, or null when it ended instead. */
async function waitForReadyServer(
  child: ChildProcess,
  cluster: string,
  end: ChildExit,
): Promise<Postmaster | null> {
  const seen: { server: Postmaster | null } = { server: null }
  const isDecided = () => {
    const found = findPostmaster(cluster)
    if (found?.processId === child.pid) seen.server = found
    return end.hasExited || seen.server?.status === 'ready'
  }
  if (
    await waitUntil(isDecided, { timeoutSeconds: RECOVERY_SECONDS_MAX, intervalMilliseconds: 25 })
  ) {
    return end.hasExited ? null : seen.server
  }
  if (seen.server) await stopServer(seen.server)
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
}

/** The server's settings as arguments: they come with the program, not with the cluster's age. */
async function buildServerArguments(place: ServerArgumentsInput): Promise<string[]> {
  const settings = {
    ...SETTINGS,
    port: String(place.port),
    wal_compression: (await canCompressWithLz4(place)) ? 'lz4' : 'off',
  }
  return Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
}

const SETTINGS = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  password_encryption: 'scram-sha-256',
  max_connections: '100',
  shared_buffers: '128MB',
  fsync: 'on',
  synchronous_commit: 'on',
  full_page_writes: 'on',
  autovacuum: 'on',
  // After a checkpoint the first change of each page writes all of it: seldom is cheaper.
  checkpoint_timeout: '30min',
  min_wal_size: '256MB',
  max_wal_size: '4GB',
  timezone: 'UTC',
  log_timezone: 'UTC',
  lc_messages: 'C',
  logging_collector: 'off',
  log_destination: 'stderr',
  log_checkpoints: 'off',
  // Details and statements carry the values of rows; no identifier may reach a log.
  log_error_verbosity: 'terse',
  log_min_error_statement: 'panic',
} as const

const PROBE_MILLISECONDS_MAX = 20_000

/** Builds differ; npm's for Linux came without LZ4. The older pglz costs too much CPU to be on. */
async function canCompressWithLz4({
  binaries,
  account,
  cluster,
}: ServerArgumentsInput): Promise<boolean> {
  const question = ['-D', cluster, '-c', 'wal_compression=lz4', '-C', 'wal_compression']
  const { file, args, options } = commandAs(account, binaries.postgres, question)
  try {
    await promisify(execFile)(file, args, { ...options, timeout: PROBE_MILLISECONDS_MAX })
    return true
  } catch {
    return false
  }
}
