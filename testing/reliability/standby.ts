import { execFileSync, spawn } from 'node:child_process'
import {
  appendFileSync,
  chmodSync,
  chownSync,
  closeSync,
  cpSync,
  mkdirSync,
  openSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { findBinaries } from '@signalbox/embedded-postgres/binaries.ts'
import pg from 'pg'
import { waitUntil } from '../fixtures/wait-until.ts'

interface PrimaryServer {
  folder: string
  port: number
  server: { connectionString: string }
}

const STANDBY_SECONDS_MAX = 20

interface StandbyOptions {
  primary: PrimaryServer
  /** The data folder of the standby, which is empty. */
  folder: string
  port: number
}

/**
 * Copies a running primary with PostgreSQL's backup functions, starts the copy as a standby and
 * makes commits wait for it, so that no acknowledged event is missing after a promotion.
 */
export async function createStandby({ primary, folder, port }: StandbyOptions): Promise<void> {
  await withClient(primary.server.connectionString, async client => {
    await client.query("select pg_backup_start('standby', true)")
    copyCluster(primary.folder, folder)
    const { rows } = await client.query('select labelfile from pg_backup_stop(false)')
    const cluster = join(folder, 'postgres')
    const { uid, gid } = statSync(cluster)
    for (const [name, text] of [
      ['backup_label', rows[0].labelfile],
      ['standby.signal', ''],
    ]) {
      writeFileSync(join(cluster, name), text)
      chownSync(join(cluster, name), uid, gid)
    }
    appendFileSync(
      join(cluster, 'postgresql.auto.conf'),
      `primary_conninfo = '${connectionInfo(primary.server.connectionString)}'\n`,
    )
    await startStandby(cluster, port)
    await client.query("alter system set synchronous_standby_names = '*'")
    await client.query('select pg_reload_conf()')
    await waitUntil(
      'the standby is synchronous',
      async () => {
        const found = await client.query(
          `select from pg_stat_replication where sync_state in ('sync', 'quorum')`,
        )
        return found.rowCount === 1
      },
      STANDBY_SECONDS_MAX,
    )
    // This commit returns when the standby has it and all commits before it.
    await client.query('select pg_current_xact_id()')
  })
}

/** Without the log of changes, which the standby reads from the primary. */
function copyCluster(from: string, to: string): void {
  cpSync(join(from, 'postgres.password'), join(to, 'postgres.password'))
  try {
    execFileSync('cp', ['-a', join(from, 'postgres'), join(to, 'postgres')], { stdio: 'pipe' })
  } catch (error) {
    // Files of dropped tables may go away during the copy; the log of changes removes them again.
    const { stderr } = error as { stderr: Buffer }
    const others = stderr
      .toString()
      .split('\n')
      .filter(line => !/No such file|^$/.test(line))
    if (others.length > 0) throw error
  }
  const cluster = join(to, 'postgres')
  const { uid, gid } = statSync(cluster)
  for (const name of ['postmaster.pid', 'postmaster.opts', 'pg_wal']) {
    rmSync(join(cluster, name), { recursive: true, force: true })
  }
  for (const name of ['pg_wal', 'pg_wal/archive_status', 'pg_wal/summaries']) {
    mkdirSync(join(cluster, name))
    chownSync(join(cluster, name), uid, gid)
    chmodSync(join(cluster, name), 0o700)
  }
}

/** It outlives this process, as the server of a data folder does; the promoted one is adopted. */
async function startStandby(cluster: string, port: number): Promise<void> {
  const { postgres } = await findBinaries()
  const { uid, gid } = statSync(cluster)
  const settings = {
    port,
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    max_connections: 100,
    timezone: 'UTC',
    lc_messages: 'C',
  }
  const options = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  const log = openSync(join(cluster, '..', 'postgres.log'), 'a')
  const child = spawn(postgres, ['-D', cluster, ...options], {
    uid,
    gid,
    cwd: '/',
    env: { PATH: '/usr/bin:/bin', LC_ALL: 'C' },
    detached: true,
    stdio: ['ignore', log, log],
  })
  closeSync(log)
  child.unref()
}

function connectionInfo(connectionString: string): string {
  const { hostname, port, username, password } = new URL(connectionString)
  return `host=${hostname} port=${port} user=${username} password=${password} sslmode=disable`
}

async function withClient(
  connectionString: string,
  use: (client: pg.Client) => Promise<void>,
): Promise<void> {
  const client = new pg.Client(connectionString)
  client.on('error', () => {})
  try {
    await client.connect()
    await use(client)
  } finally {
    await client.end().catch(() => {})
  }
}
