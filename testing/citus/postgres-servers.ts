import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  appendFileSync,
  chmodSync,
  chownSync,
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
} from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { findPostmaster } from '@signalbox/embedded-postgres/postmaster.ts'
import {
  accountFileOwner,
  chooseAccount,
  commandAs,
  type UnprivilegedAccount,
} from '@signalbox/embedded-postgres/unprivileged-account.ts'
import { waitUntil } from '../fixtures/wait-until.ts'
import type { CitusInstallation } from './installation.ts'

export interface ServersOptions {
  installation: CitusInstallation
  /** The parent of the servers' new folder. */
  parent: string
  /** Whether commits wait for the disk. */
  isFlushed: boolean
  /** Shards of each table. */
  shards: number
}

/** A server of the group, by number. */
interface NewServer {
  node: number
  port: number
  /** For `shared_preload_libraries`. */
  libraries: string
}

/**
 * PostgreSQL servers in one temporary folder, as child processes. Linux ends a server whose parent
 * ends, however that happens, so no run leaves one behind.
 */
export class PostgresServers {
  readonly #options: ServersOptions
  readonly #account: UnprivilegedAccount
  readonly #folder: string
  readonly #children = new Map<number, ChildProcess>()

  static async prepare(options: ServersOptions): Promise<PostgresServers> {
    const folder = mkdtempSync(join(options.parent, 'signalbox-citus-'))
    chmodSync(folder, 0o755)
    const program = options.installation.postgres
    const account = await chooseAccount({ program, folder, clusterOwner: null })
    return new PostgresServers(options, folder, account)
  }

  private constructor(options: ServersOptions, folder: string, account: UnprivilegedAccount) {
    this.#options = options
    this.#folder = folder
    this.#account = account
    const { uid, gid } = accountFileOwner(account)
    chownSync(folder, uid, gid)
  }

  async create({ node, port, libraries }: NewServer): Promise<void> {
    const data = this.#dataOf(node)
    const { uid, gid } = accountFileOwner(this.#account)
    mkdirSync(data, { mode: 0o700 })
    chownSync(data, uid, gid)
    const initdb = ['-D', data, '-U', 'postgres', '--auth=trust', '-E', 'UTF8', '--locale=C']
    const { file, args, options } = this.#command(this.#options.installation.initdb, initdb)
    await promisify(execFile)(file, args, options)
    appendFileSync(join(data, 'postgresql.conf'), this.#settings(port, libraries))
    await this.start(node)
  }

  /** Starts a server, and waits until it accepts connections. */
  async start(node: number): Promise<void> {
    const data = this.#dataOf(node)
    const log = openSync(`${data}.log`, 'a')
    const server = [this.#options.installation.postgres, '-D', data]
    const { file, args, options } = this.#command('setpriv', ['--pdeathsig=INT', '--', ...server])
    const child = spawn(file, args, { ...options, stdio: ['ignore', log, log] })
    closeSync(log)
    this.#children.set(node, child)
    await waitUntil(`the server in ${data} is ready`, () => {
      if (hasEnded(child)) throw new Error(`PostgreSQL did not start:\n${this.#lastLog(node)}`)
      return findPostmaster(data)?.status === 'ready'
    })
  }

  /** Ends a server without a shutdown, like a power cut: clients get no farewell. */
  async kill(node: number): Promise<void> {
    await this.#end(node, 'SIGQUIT')
  }

  /**
   * Stops the processes of a server without ending them: it accepts connections and never answers.
   * Returns a function that continues them.
   */
  freeze(node: number): () => void {
    const pid = this.processIdOf(node)
    process.kill(pid, 'SIGSTOP')
    const backends = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ')
    const pids = [pid, ...backends.map(Number)]
    for (const each of pids) signalIfRunning(each, 'SIGSTOP')
    return () => {
      for (const each of pids) signalIfRunning(each, 'SIGCONT')
    }
  }

  processIdOf(node: number): number {
    return this.#childOf(node).pid as number
  }

  /** Ends all servers and removes their data. */
  async stop(): Promise<void> {
    await Promise.all([...this.#children.keys()].map(node => this.#end(node, 'SIGINT')))
    rmSync(this.#folder, { recursive: true, force: true })
  }

  async #end(node: number, signal: NodeJS.Signals): Promise<void> {
    const child = this.#childOf(node)
    if (hasEnded(child)) return
    const exit = once(child, 'exit')
    child.kill(signal)
    await exit
  }

  #childOf(node: number): ChildProcess {
    const child = this.#children.get(node)
    if (!child) throw new Error(`there is no server ${node}`)
    return child
  }

  #dataOf(node: number): string {
    return join(this.#folder, `node${node}`)
  }

  #command(program: string, args: string[]) {
    return commandAs(this.#account, program, args)
  }

  #lastLog(node: number): string {
    return readFileSync(`${this.#dataOf(node)}.log`, 'utf8')
      .split('\n')
      .slice(-6)
      .join('\n')
  }

  #settings(port: number, libraries: string): string {
    const { isFlushed, shards } = this.#options
    const settings = {
      port,
      listen_addresses: '127.0.0.1',
      unix_socket_directories: '',
      shared_preload_libraries: libraries,
      wal_level: 'logical',
      max_connections: 300,
      max_prepared_transactions: 300,
      max_worker_processes: 64,
      checkpoint_timeout: '30min',
      max_wal_size: '4GB',
      fsync: isFlushed ? 'on' : 'off',
      'citus.shard_count': shards,
      'citus.node_conninfo': 'sslmode=disable',
    }
    const lines = Object.entries(settings).map(([name, value]) => `${name} = '${value}'\n`)
    return lines.join('')
  }
}

function hasEnded({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null
}

function signalIfRunning(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}
