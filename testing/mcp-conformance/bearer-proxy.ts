import { createServer, request as forward } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'

/**
 * Hands requests on as they are, with a bearer token: the suites send none. Host and Origin stay,
 * so that what the suites try with them reaches the door. Returns where it listens.
 */
export async function bearerProxy(
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
