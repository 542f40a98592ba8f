import { execFile, spawn } from 'node:child_process'
import { appendFileSync, chmodSync, chownSync, existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import type { TestContext } from 'node:test'
import { promisify } from 'node:util'
import { findFreePort } from '@signalbox/embedded-postgres/free-port.ts'
import {
  accountFileOwner,
  chooseAccount,
  commandAs,
} from '@signalbox/embedded-postgres/unprivileged-account.ts'

/** The oldest supported version, which has the programs that the embedded PostgreSQL lacks. */
export const POSTGRES_BIN = process.env.SIGNALBOX_TEST_POSTGRES_BIN ?? '/usr/lib/postgresql/15/bin'
const PROGRAMS = ['initdb', 'pg_ctl', 'postgres', 'pg_basebackup', 'pg_dump', 'pg_restore', 'psql']
const DATABASE = 'signalbox'

/** Reason to skip a drill, or false. */
export const isWithoutPostgres: string | false =
  PROGRAMS.every(name => existsSync(join(POSTGRES_BIN, name))) === false &&
  `NOT RUN: ${POSTGRES_BIN} has no PostgreSQL; SIGNALBOX_TEST_POSTGRES_BIN names its programs`

/** Servers of one drill, in a folder that the account of PostgreSQL owns. */
export interface PostgresHost {
  /** For data folders, backups and archives. */
  folder: string
  /** Creates and starts a server with an empty database. */
  createServer(name: string): Promise<PostgresServer>
  /** A data folder that something else creates, such as a restored backup. */
  defineServer(name: string): Promise<PostgresServer>
  /** Runs a script under the account of PostgreSQL, with its programs on PATH. */
  runScript(script: string, environment?: Record<string, string>): Promise<string>
}

export interface PostgresServer {
  dataFolder: string
  port: number
  connectionString: string
  /** The folder of its socket, the port and the account, for psql and the other programs. */
  environment: Record<string, string>
  start(): Promise<void>
  stop(mode: 'fast' | 'immediate'): Promise<void>
}

export async function createPostgresHost(test: TestContext): Promise<PostgresHost> {
  const folder = mkdtempSync(join(tmpdir(), 'signalbox-drill-'))
  chmodSync(folder, 0o755)
  const account = await chooseAccount({
    program: join(POSTGRES_BIN, 'postgres'),
    folder,
    clusterOwner: null,
  })
  const { uid, gid } = accountFileOwner(account)
  chownSync(folder, uid, gid)
  const servers: PostgresServer[] = []
  test.after(async () => {
    for (const server of servers) await server.stop('immediate').catch(() => {})
    rmSync(folder, { recursive: true, force: true })
  })

  const run = async (program: string, list: string[]) => {
    const { file, args, options } = commandAs(account, join(POSTGRES_BIN, program), list)
    return await promisify(execFile)(file, args, options)
  }
  const defineServer = async (name: string): Promise<PostgresServer> => {
    const [dataFolder, port] = [join(folder, name), await findFreePort()]
    const log = `${dataFolder}.log`
    const options = `-p ${port} -k ${folder} -c listen_addresses=127.0.0.1`
    const server: PostgresServer = {
      dataFolder,
      port,
      connectionString: `postgres://signalbox@127.0.0.1:${port}/${DATABASE}`,
      environment: {
        PGHOST: folder,
        PGPORT: String(port),
        PGUSER: 'signalbox',
        PGDATABASE: DATABASE,
      },
      start: async () =>
        void (await run('pg_ctl', ['-D', dataFolder, '-w', '-l', log, '-o', options, 'start'])),
      stop: async mode => void (await run('pg_ctl', ['-D', dataFolder, '-w', '-m', mode, 'stop'])),
    }
    servers.push(server)
    return server
  }
  return {
    folder,
    defineServer,
    createServer: async name => {
      const server = await defineServer(name)
      const { dataFolder } = server
      await run('initdb', ['-D', dataFolder, '-U', 'signalbox', '--auth=trust', '--no-sync'])
      appendFileSync(join(dataFolder, 'postgresql.conf'), "timezone = 'UTC'\n")
      await server.start()
      await run('createdb', ['-h', folder, '-p', String(server.port), '-U', 'signalbox', DATABASE])
      return server
    },
    runScript: async (script, environment = {}) => {
      const { file, args, options } = commandAs(account, '/bin/bash', ['-c', script])
      const path = `${POSTGRES_BIN}:${options.env?.PATH}`
      const env = { ...options.env, ...environment, PATH: path }
      return await runToEnd(file, args, { ...options, env, cwd: folder })
    },
  }
}

/** Standard output. Throws an error with all output if the exit code is not 0. */
export async function runToEnd(
  file: string,
  list: string[],
  options: Parameters<typeof spawn>[2],
): Promise<string> {
  const child = spawn(file, list, { ...options, stdio: ['ignore', 'pipe', 'pipe'] })
  const ended = new Promise<number | null>(resolve => child.once('close', resolve))
  const [stdout, stderr] = await Promise.all([
    child.stdout ? text(child.stdout) : '',
    child.stderr ? text(child.stderr) : '',
  ])
  const code = await ended
  if (code === 0) return stdout
  throw new Error(`exit code ${code}: ${list.join(' ')}\n${stdout}\n${stderr}`)
}
