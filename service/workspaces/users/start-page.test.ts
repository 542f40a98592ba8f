import assert from 'node:assert/strict'
import { it } from 'node:test'
import { PageClient } from '../../../testing/fixtures/page-client.ts'
import { sendRawBytes } from '../../../testing/fixtures/raw-http.ts'
import { startTestService } from '../../../testing/fixtures/service.ts'
import {
  createTestUser,
  createTestWorkspace,
  TEST_PASSWORD,
} from '../../../testing/fixtures/users.ts'

const BROWSER = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' }

it('leads a browser to sign in, and from there to the overview of the workspace', async test => {
  const service = await startTestService(test)
  const { owner, workspaceId } = await createTestWorkspace(service)
  const client = new PageClient(service.url)
  const page = await client.get('/', BROWSER)
  assert.equal(page.path, '/sign-in?return_to=%2F')
  assert.equal(page.status, 200)
  const fields = { email: owner.email, password: TEST_PASSWORD, return_to: '/' }
  const opened = await client.post('/sign-in', fields, BROWSER)
  assert.deepEqual(opened.redirects[0], '/')
  assert.equal((await client.get('/', BROWSER)).path, `/w/${workspaceId}`)
})

it('leads a person without a workspace to the list of workspaces', async test => {
  const service = await startTestService(test)
  const { client } = await createTestUser(service)
  assert.equal((await client.get('/', BROWSER)).path, '/workspaces')
})

it('leads to the workspace that the person opened last', async test => {
  const service = await startTestService(test)
  const { owner, workspaceId: first } = await createTestWorkspace(service, { name: 'A' })
  const { workspaceId: second } = await createTestWorkspace(service, { name: 'B', owner })
  const { client } = owner
  assert.equal((await client.get('/', BROWSER)).path, `/w/${first}`)
  await client.get(`/workspaces/${second}/people`)
  assert.equal((await client.get('/', BROWSER)).path, `/w/${second}`)
})

it('returns 404 as JSON for programs', async test => {
  const { url } = await startTestService(test)
  for (const accept of ['*/*', 'application/json', 'text/html;q=0, */*']) {
    const response = await fetch(url, { headers: { accept } })
    assert.equal(response.status, 404, accept)
    assert.equal(response.headers.get('vary'), 'accept')
    assert.deepEqual(await response.json(), { message: 'There is nothing at this path.' })
  }
})

it('is at no target that is not a path', async test => {
  const { url } = await startTestService(test)
  const lines = ['GET * HTTP/1.1', 'Host: x', 'Accept: text/html', 'Connection: close']
  const { head } = await sendRawBytes(url, `${lines.join('\r\n')}\r\n\r\n`)
  assert.match(head, /^HTTP\/1.1 404 /)
})

it('leads from the addresses that pages had before to the pages of the dashboard', async test => {
  const service = await startTestService(test)
  const { owner, workspaceId } = await createTestWorkspace(service)
  for (const [before, now] of Object.entries({
    '': '',
    '/ad-accounts': '/ad-accounts',
    '/people': '/people',
    '/connections': '/agents',
    '/tokens': '/tokens',
    '/notifications': '/notifications',
  })) {
    const page = await owner.client.get(`/workspaces/${workspaceId}${before}`)
    assert.deepEqual([page.status, page.path], [200, `/w/${workspaceId}${now}`])
    const visitor = await new PageClient(service.url).get(`/workspaces/${workspaceId}${before}`)
    const returnTo = encodeURIComponent(`/w/${workspaceId}${now}`)
    assert.equal(visitor.path, `/sign-in?return_to=${returnTo}`)
  }
})
