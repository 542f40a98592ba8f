import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import type { EmbeddedBinaries } from './embedded-binaries.ts'
import { commandAs, type UnprivilegedAccount } from './unprivileged-account.ts'

export interface SettingsPlace {
  binaries: EmbeddedBinaries
  account: UnprivilegedAccount
  cluster: string
  port: number
}

/** The server's settings as arguments: they come with the program, not with the cluster's age. */
export async function serverSettings(place: SettingsPlace): Promise<string[]> {
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
async function canCompressWithLz4({ binaries, account, cluster }: SettingsPlace): Promise<boolean> {
  const question = ['-D', cluster, '-c', 'wal_compression=lz4', '-C', 'wal_compression']
  const { file, args, options } = commandAs(account, binaries.postgres, question)
  try {
    await promisify(execFile)(file, args, { ...options, timeout: PROBE_MILLISECONDS_MAX })
    return true
  } catch {
    return false
  }
}
