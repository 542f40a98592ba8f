import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'
import { openDatabase } from '../service/db/database.ts'
import { createLogger } from '../service/http/logger.ts'
import { createServer } from '../service/server.ts'
import { newContractKeys } from './contract-keys.ts'
import { type ServiceUnderTest, WIDE_LIMITS } from './service-under-test.ts'

export interface ServiceBeside {
  url: string
  logged(): string
}

/** Another `serve` on the same store: its connections, commits and what it knows are its own. */
export async function serviceBeside(
  test: TestContext,
  { connectionString, delivery, clock }: ServiceUnderTest,
): Promise<ServiceBeside> {
  const database = openDatabase({
    connectionString,
    connectionsMax: 6,
    applicationName: 'signalbox beside',
    onIdleError: () => {},
  })
  test.after(() => database.close())
  const lines: string[] = []
  const server = createServer({
    database,
    platforms: delivery.platforms,
    delivery: null,
    testModeSeconds: 86_400,
    credentialKeys: delivery.credentialKeys,
    contractKeys: await newContractKeys(),
    securityContact: undefined,
    logger: createLogger('debug', { write: line => void lines.push(line) }),
    now: clock.now,
    publicOrigin: () => 'http://beside.example',
    trustedProxies: [],
    ingestQueueMax: 10_000,
    commitEventsMax: 1_000,
    limits: WIDE_LIMITS,
    mails: { send: () => {} },
    social: {},
    nativeSchemes: [],
    mcpOrigins: [],
    onPlanned: () => {},
  })
  await server.app.listen({ host: '127.0.0.1', port: 0 })
  test.after(() => server.close())
  server.markReady()
  const { port } = server.app.server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}`, logged: () => lines.join('') }
}
