import { randomBytes } from 'node:crypto'
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import {
  type RunningSimulator,
  startSimulator,
} from '@signalbox/graph-simulator/simulator-server.ts'
import type { Credentials } from '../../service/program/provisioning/credentials-file.ts'
import { provisionDestination } from '../../service/program/provisioning/provision-tracker.ts'
import { openDatabase } from '../../service/runtime/db/database.ts'
import { createOfflinePlatforms } from '../../service/signals/platforms/registry.ts'
import { configureGoogle } from '../fixtures/simulator.ts'
import { REJECTED_EVENT_NAME } from './platform-failures.ts'
import { type Capabilities, type Link, PROCESS_NAMES, type ProcessName } from './schedule.ts'
import { ServiceProcess } from './service-process.ts'
import { StoreServer } from './store-server.ts'
import { startTcpProxy, type TcpProxy } from './tcp-proxy.ts'

/** The shortest lease: after it, another worker takes over what a dead one had claimed. */
const LEASE_SECONDS = 15

/** The platforms of the tracker's destinations. */
export const PLATFORM_NAMES = ['meta', 'google_ads'] as const
export type PlatformName = (typeof PLATFORM_NAMES)[number]

/**
 * A whole installation under test: PostgreSQL, one service process of each role and the platforms,
 * connected through proxies. The simulator runs in this process, so it never loses what it
 * received.
 */
export interface Installation {
  store: StoreServer
  simulator: RunningSimulator
  processes: ReadonlyMap<ProcessName, ServiceProcess>
  proxies: Readonly<Record<Link, readonly TcpProxy[]>>
  /** Where clients reach the HTTP processes, through their proxies. */
  origins: readonly string[]
  credentials: Credentials
  credentialKey: string
  dataFolder: string
  capabilities: Capabilities
  hasMemoryLimit: boolean
  close(): Promise<void>
}

interface InstallationOptions {
  /** Default: one of each role. The first one migrates the store. */
  roles?: readonly ProcessName[]
}

export async function startInstallation({
  roles = PROCESS_NAMES,
}: InstallationOptions = {}): Promise<Installation> {
  const home = mkdtempSync(join(tmpdir(), 'signalbox-reliability-'))
  // PostgreSQL runs under an ordinary account, which has to reach its folder.
  chmodSync(home, 0o711)
  const closers: (() => Promise<void> | void)[] = [() => rmSync(home, { recursive: true })]
  const close = async () => {
    for (const closer of closers.splice(0).reverse()) await closer()
  }
  try {
    const simulator = await startSimulator({ host: '127.0.0.1', port: 0 })
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
      SIGNALBOX_PLATFORM_URL: `http://127.0.0.1:${platform.port}`,
      SIGNALBOX_GOOGLE_ADS_URL: `http://127.0.0.1:${platform.port}`,
      SIGNALBOX_GOOGLE_TOKEN_URL: `http://127.0.0.1:${platform.port}/token`,
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
    await connectGoogle(store, { credentialKey, trackerId: credentials.tracker_id })
    return {
      store,
      simulator,
      processes,
      proxies: { clients, store: [store.proxy], platform: [platform] },
      origins: clients.map(({ port }) => `http://127.0.0.1:${port}`),
      credentials,
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

/** Gives the tracker of the installation a second destination, at the simulator of Google Ads. */
async function connectGoogle(
  store: StoreServer,
  { credentialKey, trackerId }: { credentialKey: string; trackerId: string },
): Promise<void> {
  const google = createOfflinePlatforms().find('google_ads')
  if (google === null) throw new Error('there is no plug-in for Google Ads')
  const { config, credential: accessToken } = google.createSimulatorDestination()
  const database = openDatabase({
    connectionString: store.connectionString,
    connectionsMax: 1,
    applicationName: 'reliability',
    onIdleError: () => {},
  })
  try {
    await provisionDestination(database, {
      trackerId,
      at: new Date(),
      credentialKeys: { current: Buffer.from(credentialKey, 'hex'), previous: [] },
      routing: { event_names: { Purchase: '456', [REJECTED_EVENT_NAME]: '789' } },
      connected: { platform: google.name, config, accessToken },
    })
  } finally {
    await database.close()
  }
  // The processes keep the destinations of a tracker for half a second.
  await delay(ROUTES_MILLISECONDS)
}

const ROUTES_MILLISECONDS = 1_000
