import { createServer, request as forward } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'
import { mountMcpEndpoint } from '../../service/agents/mcp/mcp-endpoint.ts'
import { createLogger } from '../../service/http/logger.ts'
import { createServiceApp } from '../../service/http/service-app.ts'
import { RESOURCES } from '../../service/oauth/permissions.ts'
import { issueAgentTokens } from '../fixtures/agent-tokens.ts'
import { startTestService } from '../fixtures/service.ts'
import { createFixtureServer } from './fixture-server.ts'

/**
 * The door of the MCP server as it is, with the suites' own tools behind it, and a token in front.
 * Returns the address that a suite is given.
 */
export async function startConformanceServer(test: TestContext): Promise<string> {
  const service = await startTestService(test)
  const { database, clock } = service
  const { execution } = await issueAgentTokens(service)
  const app = createServiceApp(createLogger('fatal', { write: () => {} }))
  const door = {
    database,
    now: clock.now,
    publicOrigin: () => ORIGIN,
    limits: { agents: null },
    mcpOrigins: [],
  }
  const makeServer = (_: unknown, era: Parameters<typeof createFixtureServer>[0]) =>
    createFixtureServer(era)
  mountMcpEndpoint(app, { ...door, url: RESOURCES.mcp.path, onTouchError: () => {}, makeServer })
  await app.listen({ host: '127.0.0.1', port: 0 })
  test.after(() => app.close())
  const { port } = app.server.address() as AddressInfo
  const proxy = await startBearerProxy(test, {
    target: `http://127.0.0.1:${port}`,
    token: execution,
  })
  return `${proxy}${RESOURCES.mcp.path}`
}

/** As a developer has it; the port does not matter to the door. */
const ORIGIN = 'http://127.0.0.1:3000'

/**
 * Hands requests on as they are, with a bearer token: the suites send none. Host and Origin stay,
 * so that what the suites try with them reaches the door. Returns where it listens.
 */
async function startBearerProxy(
  test: TestContext,
  { target, token }: { target: string; token: string },
): Promise<string> {
  const { hostname, port } = new URL(target)
  const proxy = createServer((incoming, response) => {
    const { method, url: path, headers } = incoming
    const authorization = `Bearer ${token}`
    const options = { hostname, port, method, path, headers: { ...headers, authorization } }
    const outgoing = forward(options, answer => {
      response.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(response)
    })
    outgoing.on('error', () => response.destroy())
    response.on('close', () => outgoing.destroy())
    incoming.pipe(outgoing)
  })
  await new Promise<void>(resolve => proxy.listen(0, '127.0.0.1', resolve))
  test.after(() => {
    proxy.close()
    proxy.closeAllConnections()
  })
  return `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`
}
