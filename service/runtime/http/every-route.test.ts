import assert from 'node:assert/strict'
import { it } from 'node:test'
import { createAgentActionsFixture } from '../../../testing/fixtures/agent-actions.ts'
import { samplePurchase } from '../../../testing/fixtures/sample-events.ts'
import {
  type Reply,
  type RequestOptions,
  startTestService,
  type TestService,
} from '../../../testing/fixtures/service.ts'

const JSON_TYPE = { 'content-type': 'application/json' }
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'PROPFIND', 'QUERY']

/** The refusals that every route can give. */
const FAILURES: [name: string, status: number, options: RequestOptions][] = [
  ['no credential', 401, { secret: null }],
  ['a credential of another form', 401, { secret: 'garbage' }],
  ['a secret from a browser', 403, { headers: { origin: 'https://shop.example' } }],
  ['text that is no JSON', 400, { rawBody: '{' }],
  ['bytes that are no UTF-8', 400, { rawBody: new Uint8Array([0x22, 0xff, 0x22]) }],
  ['NUL', 400, { rawBody: '{"a":"\0"}' }],
  ['depth', 400, { rawBody: '['.repeat(33) + ']'.repeat(33) }],
  ['a name that is there twice', 400, { rawBody: '{"a":1,"a":2}' }],
  ['another media type', 415, { rawBody: 'a', headers: { 'content-type': 'text/csv' } }],
  ['a coding', 415, { rawBody: 'a', headers: { ...JSON_TYPE, 'content-encoding': 'br' } }],
  ['size', 413, { rawBody: ' '.repeat(1_048_577) }],
]

it('answers every failure on every route with one JSON sentence and the common headers', async test => {
  const service = await startTestService(test)
  const { workspace, token } = await createAgentActionsFixture(service)
  const routes = routesOf(service, workspace.workspaceId)
  assert.ok(routes.length >= 15)
  const ids = new Set<string>()
  let failures = 0
  for (const { method, path, isOpen, isSandbox, isOfActions } of routes) {
    for (const [name, status, options] of FAILURES) {
      const isAboutBody = 'rawBody' in options
      if (isOpen && !isAboutBody) continue
      if (isAboutBody && !['POST', 'PATCH'].includes(method)) continue
      // The sandbox checks its own key first.
      const secret = isOfActions ? { secret: token } : {}
      const reply = await service.request(method, path, { ...secret, ...options })
      const where = `${method} ${path}: ${name}`
      const expected = isSandbox && isAboutBody ? [status, 401] : [status]
      assert.ok(expected.includes(reply.status), `${where}: ${reply.status}`)
      assertUniform(reply, { where, isHead: method === 'HEAD' })
      ids.add(reply.headers.get('request-id') ?? '')
      failures += 1
    }
  }
  assert.ok(failures > 80)
  assert.equal(ids.size, failures)
})

it('returns 405 with the methods of each path, and 404 or 400 beside it', async test => {
  const service = await startTestService(test)
  const { workspace, token } = await createAgentActionsFixture(service)
  const routes = routesOf(service, workspace.workspaceId)
  for (const path of new Set(routes.map(route => route.path))) {
    const here = routes.filter(({ pattern }) => pattern.test(path))
    const allowed = [...new Set(here.map(({ method }) => method))]
    for (const method of METHODS.filter(name => !allowed.includes(name))) {
      const reply = await service.request(method, path, { secret: null })
      const where = `${method} ${path}`
      assert.equal(reply.status, 405, where)
      const named = (reply.headers.get('allow') ?? '').split(', ')
      assert.deepEqual(named.toSorted(), allowed.toSorted(), where)
      assertUniform(reply, { where, isHead: method === 'HEAD' })
    }
    for (const [status, elsewhere] of [
      [404, `${path}/`],
      [404, `${path}/x/y`],
      [404, `${path.toUpperCase()}`],
      [400, `${path}/%zz`],
      [400, `${path}%c0`],
    ] as const) {
      const secret = path.startsWith(OF_ACTIONS) ? { secret: token } : {}
      const reply = await service.request('GET', elsewhere, secret)
      assert.equal(reply.status, status, elsewhere)
      assertUniform(reply, { where: elsewhere, isHead: false })
    }
  }
})

it('sends no-store with every response that contains events or keys', async test => {
  const service = await startTestService(test)
  await service.submit(samplePurchase())
  for (const { method, path } of routesOf(service).filter(({ method }) => method === 'GET')) {
    const reply = await service.request(method, path.replace('/x', '/order-1001'))
    const isForEverybody = path === '/openapi.json' || path.startsWith('/.well-known/')
    const cached = isForEverybody ? /^public, max-age=\d+$/ : /^no-store(, private)?$/
    assert.match(reply.headers.get('cache-control') ?? '', cached, path)
    assertSecured(reply, path)
  }
})

interface Expected {
  where: string
  isHead: boolean
}

function assertUniform(reply: Reply, { where, isHead }: Expected): void {
  assertSecured(reply, where)
  const { headers } = reply
  assert.match(headers.get('cache-control') ?? '', /^no-store/, where)
  assert.equal(headers.get('content-type'), 'application/json; charset=utf-8', where)
  assert.equal(headers.get('x-should-retry'), 'false', where)
  assert.equal(headers.get('www-authenticate'), reply.status === 401 ? 'Bearer' : null, where)
  if (isHead) {
    assert.equal(reply.text, '', where)
    return
  }
  assert.deepEqual(Object.keys(reply.body), ['message'], where)
  assert.match(reply.body.message, /^[A-Z].*\.$/, where)
}

function assertSecured({ headers }: Reply, where: string): void {
  assert.match(headers.get('request-id') ?? '', /^req_[0-9a-f]{32}$/, where)
  for (const [name, value] of Object.entries({
    'content-security-policy': "default-src 'none'; base-uri 'none'; frame-ancestors 'none'",
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
    'x-frame-options': 'DENY',
  })) {
    assert.equal(headers.get(name), value, `${where}: ${name}`)
  }
  assert.match(headers.get('cross-origin-resource-policy') ?? '', /^(same|cross)-origin$/, where)
  for (const name of ['server', 'x-powered-by']) assert.equal(headers.get(name), null, where)
}

interface Route {
  method: string
  path: string
  /** The methods of the path; a parameter of one route may match the name of another. */
  pattern: RegExp
  /** Needs no tracker credential. */
  isOpen: boolean
  /** The sandbox, which has its own keys. */
  isSandbox: boolean
  /** Accepts an execution token. */
  isOfActions: boolean
}

const OF_ACTIONS = '/api/v1/agent/workspaces/'

/** Pages and agent routes have their own error responses. */
const JSON_INTERFACE = /^\/(api|livez|readyz|openapi\.json|\.well-known)(\/|$)/

/** Every route of the API as the router prints it; a path parameter is `x` or the id. */
function routesOf({ server }: TestService, workspaceId = 1): Route[] {
  const above: string[] = []
  const lines = server.app.printRoutes({ commonPrefix: false }).split('\n')
  return lines.flatMap(line => {
    const [, indent, part, methods] = /^([│ ]*)[├└]── (\S+) \((.+)\)$/.exec(line) ?? []
    if (indent === undefined || part === undefined || methods === undefined) return []
    const depth = indent.length / 4
    const template = `${depth === 0 ? '' : above[depth - 1]}${part}`
    above[depth] = template
    const path = template.replace(':workspace', String(workspaceId)).replaceAll(/:\w+/g, 'x')
    const isSandbox = path.startsWith('/api/v1/sandbox')
    const isOfActions = path.startsWith(OF_ACTIONS)
    const hasOwnCredential = isSandbox || path === '/api/v1/agent/context'
    const isOpen = hasOwnCredential || !path.startsWith('/api/')
    if (!JSON_INTERFACE.test(path)) return []
    return methods.split(', ').map(method => ({
      method,
      path,
      pattern: new RegExp(`^${template.replaceAll(/:\w+/g, '[^/]+')}$`),
      isOpen: isOpen || method === 'OPTIONS',
      isSandbox,
      isOfActions,
    }))
  })
}
