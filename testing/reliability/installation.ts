import { randomBytes } from 'node:crypto'
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  type RunningSimulator,
  startSimulator,
} from '@signalbox/graph-simulator/simulator-server.ts'
import type { Credentials } from '../../service/program/provisioning/credentials-file.ts'
import { configureGoogle } from '../fixtures/simulator.ts'
import {
  connectPlatforms,
  DEFAULT_PLATFORMS,
  FIRST_PLATFORM,
  listAddressSettings,
} from './campaign-platforms.ts'
import { type Capabilities, type Link, PROCESS_NAMES, type ProcessName } from './schedule.ts'
import { ServiceProcess } from './service-process.ts'
import { StoreServer } from './store-server.ts'
import { startTcpProxy, type TcpProxy } from './tcp-proxy.ts'

/** The shortest lease: after it, another worker takes over what a dead one had claimed. */
const LEASE_SECONDS = 15

/**
 * A whole installation under test: PostgreSQL, one service process of each role and the platforms,
 * connected through proxies. The simulator runs in this process, so it never loses what it
 * received.
 */
export interface Installation {
  store: StoreServer
  simulator: RunningSimulator
  /** What its clock is ahead: a receiver of webhooks refuses a message of another time. */
  simulatorClock: { aheadSeconds: number }
  processes: ReadonlyMap<ProcessName, ServiceProcess>
  proxies: Readonly<Record<Link, readonly TcpProxy[]>>
  /** Where clients reach the HTTP processes, through their proxies. */
  origins: readonly string[]
  credentials: Credentials
  /** The destination at each platform of the campaign. */
  destinations: ReadonlyMap<string, string>
  credentialKey: string
  dataFolder: string
  capabilities: Capabilities
  hasMemoryLimit: boolean
  close(): Promise<void>
}

interface InstallationOptions {
  /** Default: one of each role. The first one migrates the store. */
  roles?: readonly ProcessName[]
  /** Beside the first one. */
  platforms?: readonly string[]
}

export async function startInstallation({
  roles = PROCESS_NAMES,
  platforms = DEFAULT_PLATFORMS,
}: InstallationOptions = {}): Promise<Installation> {
  const home = mkdtempSync(join(tmpdir(), 'signalbox-reliability-'))
  // PostgreSQL runs under an ordinary account, which has to reach its folder.
  chmodSync(home, 0o711)
  const closers: (() => Promise<void> | void)[] = [() => rmSync(home, { recursive: true })]
  const close = async () => {
    for (const closer of closers.splice(0).reverse()) await closer()
  }
  const simulatorClock = { aheadSeconds: 0 }
  try {
    const simulator = await startSimulator({
      host: '127.0.0.1',
      port: 0,
      now: () => new Date(Date.now() + simulatorClock.aheadSeconds * 1_000),
    })
    closers.push(simulator.close)
    const platform = await startTcpProxy(Number(new URL(simulator.url).port))
    closers.push(platform.close)
    const store = await StoreServer.start(home)
    closers.push(() => store.close())
    const dataFolder = join(home, 'data')
    mkdirSync(dataFolder)
    const credentialKey = randomBytes(32).toString('hex')
    const environment = {
      DATABASE_URL: store.proxiedConnectionString,
      ...listAddressSettings(`http://127.0.0.1:${platform.port}`),
      SIGNALBOX_CREDENTIAL_KEY: credentialKey,
      SIGNALBOX_DATA_DIR: dataFolder,
      SIGNALBOX_DEMO: 'on',
      SIGNALBOX_DELIVERY_LEASE_SECONDS: String(LEASE_SECONDS),
      SIGNALBOX_DELIVERY_POLL_SECONDS: '1',
      SIGNALBOX_DATABASE_CONNECTIONS_MAX: '6',
      SIGNALBOX_TRACKER_RATE_PER_SECOND: '0',
    }
    const processes = new Map<ProcessName, ServiceProcess>()
    const clients: TcpProxy[] = []
    for (const name of roles) {
      // The deliveries of `all` run beside an HTTP worker thread, and `serve` has no thread.
      const workers = { SIGNALBOX_HTTP_WORKERS: name === 'all' ? '1' : '0' }
      const options = { name, environment: { ...environment, ...workers }, folder: home }
      const process = await ServiceProcess.start(options)
      closers.push(() => process.close())
      processes.set(name, process)
      if (process.httpPort === null) continue
      const proxy = await startTcpProxy(process.httpPort)
      closers.push(proxy.close)
      clients.push(proxy)
    }
    const credentials: Credentials = JSON.parse(
      readFileSync(join(dataFolder, 'credentials.json'), 'utf8'),
    )
    await configureGoogle(simulator.url, { processing_seconds: 0, requests_per_minute: 100_000 })
    const trackerId = credentials.tracker_id
    const others = await connectPlatforms(store, { credentialKey, trackerId, platforms })
    return {
      store,
      simulator,
      simulatorClock,
      processes,
      proxies: { clients, store: [store.proxy], platform: [platform] },
      origins: clients.map(({ port }) => `http://127.0.0.1:${port}`),
      credentials,
      destinations: new Map([[FIRST_PLATFORM, credentials.destination_id], ...others]),
      credentialKey,
      dataFolder,
      capabilities: { 'fill disk': store.canFillDisk, 'promote standby': true },
      hasMemoryLimit: [...processes.values()].every(({ hasMemoryLimit }) => hasMemoryLimit),
      close,
    }
  } catch (error) {
    await close()
    throw error
  }
}
