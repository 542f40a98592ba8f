import assert from 'node:assert/strict'
import { it } from 'node:test'
import { startTestService, type TestService } from '../../../testing/fixtures/service.ts'
import { disconnectStore } from '../../../testing/fixtures/store-loss.ts'
import { createTestWorkspace } from '../../../testing/fixtures/users.ts'

const BROWSER = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8'

const ERRORS = [
  ['/nothing', 404, 'Page not found'],
  ['/sign-out', 405, 'Not allowed here'],
  ['/%zz', 400, 'Invalid request'],
  [`/workspaces/1/${'a'.repeat(2_000)}`, 404, 'Page not found'],
] as const

it('shows an error to a browser as a page with the request ID', async test => {
  const service = await startTestService(test)
  for (const [path, status, title] of ERRORS) {
    const response = await read(service, path)
    assert.equal(response.status, status, path)
    assert.equal(response.headers.get('content-type'), 'text/html; charset=utf-8')
    assert.match(response.headers.get('content-security-policy') ?? '', /^default-src 'none'/)
    assert.equal(response.headers.get('cache-control'), 'no-store')
    assert.equal(response.headers.get('vary'), 'accept')
    const text = await response.text()
    assert.ok(text.includes(`<h1>${title}</h1>`), text)
    assert.ok(text.includes(response.headers.get('request-id') ?? 'none'))
  }
  assert.equal((await read(service, '/sign-out')).headers.get('allow'), 'POST')
})

it('answers programs with the same error as JSON', async test => {
  const service = await startTestService(test)
  for (const [path, status] of ERRORS) {
    for (const accept of ['*/*', 'application/json', 'text/html;q=0, */*']) {
      const response = await read(service, path, accept)
      assert.equal(response.status, status, path)
      assert.equal(response.headers.get('vary'), 'accept')
      assert.deepEqual(Object.keys((await response.json()) as object), ['message'])
    }
  }
})

it('answers errors of an API as JSON, also to a browser', async test => {
  const service = await startTestService(test)
  for (const path of [
    ...[
      '/api/v1/events/x',
      '//api/v1/events',
      '/api/v1',
      '/api/v1/nothing',
      '/browser/me',
      '/browser/nothing',
    ],
    ...['/mcp', '/oauth2/nothing', '/.well-known/nothing', '/openapi.json/x'],
  ]) {
    const response = await read(service, path)
    assert.ok(response.status >= 400, path)
    assert.match(response.headers.get('content-type') ?? '', /^application\/json/, path)
  }
})

it('shows a fault of the service and a lost store as pages', async test => {
  const service = await startTestService(test)
  const { owner } = await createTestWorkspace(service)
  await service.database.pool.query('alter table members rename to members_elsewhere')
  const fault = await owner.client.get('/', { accept: BROWSER })
  assert.equal(fault.status, 500)
  assert.match(fault.text, /<h1>Something went wrong<\/h1>[\s\S]*<code>req_[0-9a-f]{32}<\/code>/)
  await disconnectStore(service)
  const lost = await owner.client.get('/', { accept: BROWSER })
  assert.equal(lost.status, 503)
  assert.equal(lost.headers.get('retry-after'), '2')
  assert.match(lost.text, /<h1>Temporarily unavailable<\/h1>/)
})

function read({ url }: TestService, path: string, accept = BROWSER): Promise<Response> {
  return fetch(url + path, { headers: { accept }, redirect: 'manual' })
}
