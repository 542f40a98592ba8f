import assert from 'node:assert/strict'
import { it } from 'node:test'
import { openDashboardWorkspace } from '../../testing/fixtures/dashboard.ts'
import { PageClient } from '../../testing/fixtures/page-client.ts'
import { startTestService } from '../../testing/fixtures/service.ts'
import { createTestUser } from '../../testing/fixtures/users.ts'

it('serves one document below /w/:workspace, with a new nonce each time', async test => {
  const service = await startTestService(test)
  const { owner, tracker } = await openDashboardWorkspace(service)
  const nonces = []
  for (const path of ['', '/events/some%2Fid']) {
    const { status, headers, text } = await owner.client.get(`/w/${tracker.workspaceId}${path}`)
    assert.equal(status, 200)
    assert.equal(headers.get('cache-control'), 'no-store')
    const policy = headers.get('content-security-policy') ?? ''
    const [, nonce] = /style-src 'self' 'nonce-([^']+)'/.exec(policy) ?? []
    assert.ok(nonce && text.includes(`content="${nonce}"`), policy)
    assert.match(policy, /script-src 'self'; require-trusted-types-for 'script'/)
    assert.match(policy, /trusted-types default; connect-src 'self'/)
    assert.doesNotMatch(policy, /unsafe/)
    nonces.push(nonce)
  }
  assert.notEqual(nonces[0], nonces[1])
})

it('serves compressed scripts that browsers may keep', async test => {
  const service = await startTestService(test)
  const { owner, tracker } = await openDashboardWorkspace(service)
  const { text } = await owner.client.get(`/w/${tracker.workspaceId}`)
  const [, script] = /src="(\/dashboard-assets\/[^"]+\.js)"/.exec(text) ?? []
  const response = await fetch(`${service.url}${script}`, {
    headers: { 'accept-encoding': 'br' },
  })
  assert.equal(response.status, 200)
  assert.equal(response.headers.get('content-encoding'), 'br')
  assert.equal(response.headers.get('cache-control'), 'public, max-age=31536000, immutable')
  assert.match(response.headers.get('content-type') ?? '', /javascript/)
  assert.match(await response.text(), /Signalbox/)
})

it('has no file but scripts and styles', async test => {
  const { url } = await startTestService(test)
  for (const name of ['index.html', 'manifest.json', 'sources.sha256', '..%2Fbuild.ts', 'a.js']) {
    const { status } = await fetch(`${url}/dashboard-assets/${name}`)
    assert.equal(status, 404, name)
  }
})

it('sends a visitor to sign in and answers 404 to a stranger', async test => {
  const service = await startTestService(test)
  const path = `/w/${service.tracker.workspaceId}/events?name=Purchase`
  const visitor = await new PageClient(service.url).get(path)
  assert.equal(visitor.path, `/sign-in?return_to=${encodeURIComponent(path)}`)
  const stranger = await createTestUser(service)
  assert.equal((await stranger.client.get(path)).status, 404)
})
