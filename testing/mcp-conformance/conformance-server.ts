import { createServer, request as forward } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'
import { mountMcpEndpoint } from '../../service/agents/mcp/mcp-endpoint.ts'
import { createLogger } from '../../service/runtime/http/logger.ts'
import { createServiceApp } from '../../service/runtime/http/service-app.ts'
import { RESOURCES } from '../../service/workspaces/oauth/permissions.ts'
import { issueAgentTokens } from '../fixtures/agent-tokens.ts'
import { startTestService } from '../fixtures/service.ts'
import { createFixtureServer } from './fixture-server.ts'

/**
 * Starts the real MCP endpoint with the tools that the suites require, behind a proxy that adds a
 * token. Returns the URL for a suite.
 */
export async function startConformanceServer(test: TestContext): Promise<string> {
  const service = await startTestService(test)
  const { database, clock } = service
  const { execution } = await issueAgentTokens(service)
  const app = createServiceApp(createLogger('fatal', { write: () => {} }))
  const endpoint = {
    database,
    now: clock.now,
    publicOrigin: () => ORIGIN,
    limits: { agents: null },
    settings: { mcpOrigins: [] },
  }
  const makeServer = (_: unknown, era: Parameters<typeof createFixtureServer>[0]) =>
    createFixtureServer(era)
  mountMcpEndpoint(app, {
    ...endpoint,
    url: RESOURCES.mcp.path,
    onTouchError: () => {},
    makeServer,
  })
  await app.listen({ host: '127.0.0.1', port: 0 })
  test.after(() => app.close())
  const { port } = app.server.address() as AddressInfo
  const proxy = await startBearerProxy(test, {
    target: `http://127.0.0.1:${port}`,
    token: execution,
  })
  return `${proxy}${RESOURCES.mcp.path}`
}

/**
 * Starts the service with its own tools behind the same proxy and returns the URL of `/mcp`, for
 * what a suite can check without tools of its own.
 */
export async function startServiceForConformance(test: TestContext): Promise<string> {
  const service = await startTestService(test)
  const { execution } = await issueAgentTokens(service)
  const proxy = await startBearerProxy(test, { target: service.url, token: execution })
  return `${proxy}${RESOURCES.mcp.path}`
}

/** The origin of a local installation; the endpoint ignores its port. */
const ORIGIN = 'http://127.0.0.1:3000'

/**
 * Forwards requests unchanged, except for a bearer token, which the suites do not send. Host and
 * Origin stay, so that the endpoint checks the values of the suites. Returns its own origin.
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
