import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'
import { mountMcpEndpoint } from '../../service/agents/mcp/mcp-endpoint.ts'
import { createLogger } from '../../service/http/logger.ts'
import { createServiceApp } from '../../service/http/service-app.ts'
import { RESOURCES } from '../../service/oauth/permissions.ts'
import { agentTokens } from '../agent-tokens.ts'
import { serviceUnderTest } from '../service-under-test.ts'
import { bearerProxy } from './bearer-proxy.ts'
import { fixtureServer } from './fixture-server.ts'

/**
 * The door of the MCP server as it is, with the suites' own tools behind it, and a token in front.
 * Returns the address that a suite is given.
 */
export async function conformanceMount(test: TestContext): Promise<string> {
  const service = await serviceUnderTest(test)
  const { database, clock } = service
  const { execution } = await agentTokens(service)
  const app = createServiceApp(createLogger('fatal', { write: () => {} }))
  const door = {
    database,
    now: clock.now,
    publicOrigin: () => ORIGIN,
    limits: { agents: null },
    mcpOrigins: [],
  }
  const makeServer = (_: unknown, era: Parameters<typeof fixtureServer>[0]) => fixtureServer(era)
  mountMcpEndpoint(app, { ...door, url: RESOURCES.mcp.path, onTouchError: () => {}, makeServer })
  await app.listen({ host: '127.0.0.1', port: 0 })
  test.after(() => app.close())
  const { port } = app.server.address() as AddressInfo
  const proxy = await bearerProxy(test, { target: `http://127.0.0.1:${port}`, token: execution })
  return `${proxy}${RESOURCES.mcp.path}`
}

/** As a developer has it; the port does not matter to the door. */
const ORIGIN = 'http://127.0.0.1:3000'
