import { randomBytes } from 'node:crypto'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'
import { startSimulator } from '@signalbox/graph-simulator/simulator-server.ts'
import type { Database } from '../service/db/database.ts'
import { openStoreNodes, singleNode } from '../service/db/store-nodes.ts'
import { deliverDueBatch } from '../service/delivery/deliver-batch.ts'
import type { DeliveryContext } from '../service/delivery/delivery-context.ts'
import { findDueQueues } from '../service/delivery/destination-queue-store.ts'
import { createLogger } from '../service/http/logger.ts'
import type { Email } from '../service/people/mail/mail-queue.ts'
import type { Platform } from '../service/platforms/platform.ts'
import { createPlatforms, PlatformRegistry } from '../service/platforms/registry.ts'
import {
  type ProvisionedTracker,
  provisionTracker,
} from '../service/provisioning/provision-tracker.ts'
import { createServer, type Server, type ServerOptions } from '../service/server.ts'
import { parseNetworks } from '../service/util/ip-address.ts'
import { sharedCluster } from './citus/cluster.ts'
import { newContractKeys } from './contract-keys.ts'
import { SHOP_ORIGIN } from './page-view.ts'
import { noteAnswer } from './reached-answers.ts'
import { type RegisteredRoute, registeredRoutes } from './registered-routes.ts'
import { TestClock } from './test-clock.ts'
import { type TestStore, testStore } from './test-store.ts'

/** A service with its store and simulator, all real and listening, on one clock. */
export interface ServiceUnderTest {
  url: string
  simulatorUrl: string
  database: Database
  connectionString: string
  clock: TestClock
  tracker: ProvisionedTracker
  server: Server
  /** What it answers under the base path. */
  routes: readonly RegisteredRoute[]
  delivery: DeliveryContext
  /** Every mail that was handed in. */
  mails: Email[]
  /** Everything that was logged, as text. */
  logged(): string
  /** Its publishable key works at the shop of the samples, unless other origins are given. */
  newTracker(origins?: readonly string[]): Promise<ProvisionedTracker>
  request(method: string, path: string, options?: RequestOptions): Promise<Reply>
  /** POST /api/v1/events as the first tracker. */
  submit(body: unknown, headers?: Record<string, string>): Promise<Reply>
  /** GET /api/v1/events/{id} as the first tracker. */
  read(eventId: string): Promise<Reply>
  /** Sends everything that is due at this moment of the clock. Returns how many it claimed. */
  deliver(): Promise<number>
  received(query?: string): Promise<{ count: number; events: Record<string, never>[] }>
}

export interface RequestOptions {
  secret?: string | null
  body?: unknown
  rawBody?: string | Uint8Array<ArrayBuffer>
  headers?: Record<string, string>
}

export interface Reply {
  status: number
  headers: Headers
  text: string
  // biome-ignore lint/suspicious/noExplicitAny: tests assert on the shape of any answer
  body: any
}

export interface UnderTestOptions {
  ingestQueueMax?: number
  batchMax?: number
  startAt?: string
  securityContact?: string
  /** As in SIGNALBOX_TRUSTED_PROXIES; none without it. */
  trustedProxies?: string
  /** False: the HTTP service was not told where the platform is. */
  knowsPlatform?: boolean
  /** What is let in: everything that a test can send, where it says nothing else. */
  limits?: Partial<ServerOptions['limits']>
  social?: ServerOptions['social']
  /** As in SIGNALBOX_PUBLIC_ORIGIN; where it listens without it. */
  publicOrigin?: string
  /** The clock of the limits, and how late the event loop is; the real ones by default. */
  monotonicSeconds?: () => number
  readDelaySeconds?: () => number
  /** Plug-ins beside those of the registry. */
  morePlatforms?: readonly Platform[]
}

/** No limit is met by accident, and the one with headers on every answer is there. */
export const WIDE_LIMITS = {
  trackerRatePerSecond: 100_000,
  sandboxRatePerMinute: 0,
  failedAuthRatePerMinute: 0,
  signInRatePerMinute: 0,
  registrationRatePerMinute: 0,
  oauthRatePerMinute: 0,
  userCodeRatePerMinute: 0,
  agentRatePerMinute: 0,
  eventLoopDelayMillisecondsMax: 0,
}

/** Those of the cluster on which the tests run, if they do (`npm run test:citus`). */
async function nodesOf(test: TestContext, { database, connectionString }: TestStore) {
  if (!sharedCluster()) return singleNode(database)
  const nodes = await openStoreNodes(database, {
    connectionString,
    connectionsMax: 10,
    applicationName: 'signalbox test',
    onIdleError: () => {},
    monotonicSeconds: () => performance.now() / 1_000,
  })
  test.after(() => nodes.close())
  return nodes
}

const ROUNDS_MAX = 100
const SHOP_ORIGINS = [SHOP_ORIGIN]

/** Starts everything for one test and ends it with the test. */
export async function serviceUnderTest(
  test: TestContext,
  options: UnderTestOptions = {},
): Promise<ServiceUnderTest> {
  const clock = new TestClock(options.startAt)
  const { database, connectionString } = await testStore(test)
  const nodes = await nodesOf(test, { database, connectionString })
  const simulator = await startSimulator({ host: '127.0.0.1', port: 0, now: clock.now })
  test.after(() => simulator.close())
  const lines: string[] = []
  const logger = createLogger('debug', { write: line => void lines.push(line) })
  const installed = createPlatforms({
    baseUrl: simulator.url,
    version: 'v26.0',
    timeoutMilliseconds: 5_000,
    now: clock.now,
  })
  const platforms = new PlatformRegistry([...installed.all, ...(options.morePlatforms ?? [])])
  const credentialKeys = { current: randomBytes(32), previous: [] }
  const mails: Email[] = []
  let origin = ''
  const delivery: DeliveryContext = {
    database,
    // On one PostgreSQL a worker has only its own connections, which a test may take away.
    ...(nodes.isCluster && { nodes }),
    platforms,
    credentialKeys,
    batchMax: options.batchMax ?? 1_000,
    leaseSeconds: 60,
    now: clock.now,
    random: () => 0.5,
  }
  const server = createServer({
    database,
    nodes,
    platforms,
    delivery: options.knowsPlatform === false ? null : delivery,
    testModeSeconds: 86_400,
    credentialKeys,
    contractKeys: await newContractKeys(),
    securityContact: options.securityContact,
    logger,
    now: clock.now,
    publicOrigin: () => options.publicOrigin ?? origin,
    trustedProxies: parseNetworks(options.trustedProxies ?? '') ?? [],
    nativeSchemes: ['cursor', 'vscode'],
    mcpOrigins: ['https://chat.example'],
    mails: { send: mail => void mails.push(mail) },
    social: options.social ?? {},
    ingestQueueMax: options.ingestQueueMax ?? 10_000,
    commitEventsMax: 1_000,
    limits: { ...WIDE_LIMITS, ...options.limits },
    ...(options.monotonicSeconds && { monotonicSeconds: options.monotonicSeconds }),
    ...(options.readDelaySeconds && { readDelaySeconds: options.readDelaySeconds }),
    onPlanned: () => {},
  })
  const routes = registeredRoutes(server.app)
  await server.app.listen({ host: '127.0.0.1', port: 0 })
  test.after(() => server.close())
  server.markReady()
  origin = `http://127.0.0.1:${(server.app.server.address() as AddressInfo).port}`

  const newTracker = (origins: readonly string[] = SHOP_ORIGINS) =>
    provisionTracker(database, { workspaceName: 'Test', at: clock.now(), credentialKeys, origins })
  const tracker = await newTracker()
  const request = requester(origin, tracker.trackerSecret)
  return {
    url: origin,
    simulatorUrl: simulator.url,
    database,
    connectionString,
    clock,
    tracker,
    server,
    routes,
    delivery,
    mails,
    logged: () => lines.join(''),
    newTracker,
    request,
    submit: (body, headers = {}) => request('POST', '/api/v1/events', { body, headers }),
    read: eventId => request('GET', `/api/v1/events/${encodeURIComponent(eventId)}`),
    deliver: () => deliverDue(delivery),
    received: async (query = '') =>
      (await fetch(`${simulator.url}/_simulator/received?${query}`)).json() as never,
  }
}

async function deliverDue(context: DeliveryContext): Promise<number> {
  let claimed = 0
  for (let round = 0; round < ROUNDS_MAX; round += 1) {
    const due = { now: context.now(), queuesMax: 100, excludedDestinationIds: [] }
    const lanes = await findDueQueues(context.database, due)
    if (lanes.length === 0) return claimed
    for (const lane of lanes) {
      const run = await deliverDueBatch(context, lane, () => {})
      claimed += run.claimedCount
    }
  }
  throw new Error('the lanes never became empty')
}

function requester(origin: string, trackerSecret: string) {
  return async (method: string, path: string, options: RequestOptions = {}): Promise<Reply> => {
    const { secret = trackerSecret, body, rawBody, headers = {} } = options
    const sent = rawBody ?? (body === undefined ? undefined : JSON.stringify(body))
    const response = await fetch(`${origin}${path}`, {
      method,
      headers: {
        ...(secret === null ? {} : { authorization: `Bearer ${secret}` }),
        ...(sent === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(sent === undefined ? {} : { body: sent }),
    })
    const text = await response.text()
    const { status } = response
    noteAnswer({ method, path, status })
    const isJson = /json/.test(response.headers.get('content-type') ?? '')
    const isEmpty = text === '' || !isJson
    return { status, headers: response.headers, text, body: isEmpty ? null : JSON.parse(text) }
  }
}
