import { existsSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { type EmbeddedPostgres, startEmbeddedPostgres } from '@signalbox/embedded-postgres'
import { clusterPath } from '@signalbox/embedded-postgres/cluster.ts'
import { findFreePort } from '@signalbox/embedded-postgres/free-port.ts'
import pg from 'pg'
import { queryStore } from '../fixtures/query-store.ts'
import { pollUntil } from '../fixtures/wait-until.ts'
import { createStandby } from './standby.ts'
import { mountStoreVolume, type StoreVolume } from './store-volume.ts'
import { startTcpProxy, type TcpProxy, withPort } from './tcp-proxy.ts'

const RETRY_MILLISECONDS = 200
/** More than `max_connections` of the server. */
const CONNECTIONS_MAX = 110

/** The PostgreSQL of a campaign, a proxy in front of it, and a supervisor that keeps it running. */
export class StoreServer {
  readonly proxy: TcpProxy
  readonly #home: string
  readonly #volumes: StoreVolume[] = []
  #node: StoreNode
  #promotions = 0
  #isClosing = false

  private constructor(home: string, node: StoreNode, proxy: TcpProxy) {
    this.#home = home
    this.#node = node
    this.proxy = proxy
    if (node.volume) this.#volumes.push(node.volume)
    this.#supervise(node)
  }

  static async start(home: string): Promise<StoreServer> {
    const node = await startNode(join(home, 'store-0'), await findFreePort())
    return new StoreServer(home, node, await startTcpProxy(node.port))
  }

  get canFillDisk(): boolean {
    return this.#node.volume !== null
  }

  /** Past the proxy: for the checks of the campaign. */
  get connectionString(): string {
    return this.#node.server.connectionString
  }

  get proxiedConnectionString(): string {
    return withPort(this.connectionString, this.proxy.port)
  }

  /** SIGKILL of the postmaster; the supervisor starts it again after a pause. */
  async kill(milliseconds: number): Promise<void> {
    await this.#end('SIGKILL', milliseconds)
  }

  /** A fast shutdown, as for an update of PostgreSQL. */
  async restart(milliseconds: number): Promise<void> {
    await this.#end('SIGINT', milliseconds)
  }

  /** SIGKILL of one server process of the service, after which PostgreSQL resets all of them. */
  async killConnection(): Promise<void> {
    const [processId] = await this.#serviceConnections()
    if (processId !== undefined) signal(processId, 'SIGKILL')
  }

  /** Every connection of the service makes no progress, as on a disk that hangs. */
  async freezeConnections(milliseconds: number): Promise<void> {
    const processIds = await this.#serviceConnections()
    for (const processId of processIds) signal(processId, 'SIGSTOP')
    await delay(milliseconds)
    for (const processId of processIds) signal(processId, 'SIGCONT')
  }

  /** Takes every connection that the server allows, those of the service too. */
  async exhaustConnections(milliseconds: number): Promise<void> {
    const taken: pg.Client[] = []
    const take = async () => {
      while (taken.length < CONNECTIONS_MAX) {
        const client = new pg.Client(this.connectionString)
        client.on('error', () => {})
        taken.push(client)
        try {
          await client.connect()
        } catch {
          return
        }
      }
    }
    await take()
    this.proxy.reset()
    const until = performance.now() + milliseconds
    while (performance.now() < until) {
      await take()
      await delay(20)
    }
    await Promise.all(taken.map(client => client.end().catch(() => {})))
  }

  async fillDisk(milliseconds: number): Promise<void> {
    this.#node.volume?.fill()
    await delay(milliseconds)
    this.#node.volume?.empty()
  }

  /**
   * Adds a synchronous standby, kills the primary and promotes the standby: the service finds a
   * server that refuses writes, and then the new primary behind the same address.
   */
  async failOver(milliseconds: number): Promise<void> {
    this.#promotions += 1
    const old = this.#node
    const folder = join(this.#home, `store-${this.#promotions}`)
    const port = await findFreePort()
    const volume = mountStoreVolume(folder)
    if (volume) this.#volumes.push(volume)
    await createStandby({ primary: old, folder, port })
    old.isSupervised = false
    process.kill(old.server.processId, 'SIGKILL')
    this.proxy.setUpstream(port)
    this.proxy.reset()
    await delay(milliseconds)
    await queryStore(withPort(this.connectionString, port), 'select pg_promote(true, 60)')
    const node = await startNode(folder, port, volume)
    this.#node = node
    this.#supervise(node)
    await old.server.stop()
    old.volume?.empty()
    rmSync(clusterPath(old.folder), { recursive: true })
  }

  /** Keeps the log of changes small; the memory file system has room for some cycles. */
  async checkpoint(): Promise<void> {
    await this.query('checkpoint')
  }

  query(text: string, values: unknown[] = []): Promise<Record<string, unknown>[]> {
    return queryStore(this.connectionString, text, values)
  }

  /** Waits until the supervisor has a server that answers. */
  async waitUntilReady(secondsMax: number): Promise<void> {
    const answers = () =>
      this.query('select 1').then(
        () => true,
        () => false,
      )
    if (await pollUntil(answers, secondsMax)) return
    throw new Error(
      `PostgreSQL did not start again within ${secondsMax} seconds:\n${readServerLog(this.#node)}`,
    )
  }

  async close(): Promise<void> {
    this.#isClosing = true
    await this.proxy.close()
    await this.#node.server.stop()
    for (const volume of this.#volumes) volume.unmount()
  }

  async #end(name: NodeJS.Signals, milliseconds: number): Promise<void> {
    const node = this.#node
    node.isSupervised = false
    signal(node.server.processId, name)
    await node.server.exited
    await delay(milliseconds)
    node.isSupervised = true
    await this.#startAgain(node)
  }

  /** A server may end by itself: on a full disk it does. */
  #supervise(node: StoreNode): void {
    void node.server.exited.then(() => {
      if (node.isSupervised && !this.#isClosing) void this.#startAgain(node)
    })
  }

  async #startAgain(node: StoreNode): Promise<void> {
    await node.server.stop()
    while (!this.#isClosing) {
      try {
        node.server = await startEmbeddedPostgres({ dataDirectory: node.folder, port: node.port })
        return this.#supervise(node)
      } catch {
        await delay(RETRY_MILLISECONDS)
      }
    }
  }

  async #serviceConnections(): Promise<number[]> {
    const rows = await this.query(
      `select pid from pg_stat_activity where application_name like 'signalbox%'
       order by state = 'active' desc, pid`,
    )
    return rows.map(({ pid }) => Number(pid))
  }
}

/** One cluster of the store: the first primary, or a standby that was promoted. */
interface StoreNode {
  folder: string
  port: number
  server: EmbeddedPostgres
  volume: StoreVolume | null
  isSupervised: boolean
}

async function startNode(
  folder: string,
  port: number,
  volume = mountStoreVolume(folder),
): Promise<StoreNode> {
  const server = await startEmbeddedPostgres({ dataDirectory: folder, port })
  return { folder, port, server, volume, isSupervised: true }
}

function readServerLog({ folder }: StoreNode): string {
  const path = join(folder, 'postgres.log')
  return existsSync(path) ? readFileSync(path, 'utf8').slice(-2_000) : ''
}

function signal(processId: number, name: NodeJS.Signals): void {
  try {
    process.kill(processId, name)
  } catch {
    // It has ended by itself.
  }
}
