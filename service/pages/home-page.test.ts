import assert from 'node:assert/strict'
import { it } from 'node:test'
import { startTestService } from '../../testing/fixtures/service.ts'

const BROWSER = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8'

it('GET / returns a page with links for a browser', async test => {
  const { url } = await startTestService(test)
  const response = await fetch(url, { headers: { accept: BROWSER } })
  assert.equal(response.status, 200)
  assert.equal(response.headers.get('content-type'), 'text/html; charset=utf-8')
  assert.match(response.headers.get('content-security-policy') ?? '', /^default-src 'none'/)
  const page = await response.text()
  for (const path of ['/sign-in', '/openapi.json', '/readyz']) {
    assert.ok(page.includes(`href="${path}"`))
    const linked = await fetch(`${url}${path}`)
    assert.equal(linked.status, 200, path)
  }
})

it('GET / returns 404 as JSON for other clients', async test => {
  const { url } = await startTestService(test)
  for (const accept of ['*/*', 'application/json', 'text/html;q=0, */*']) {
    const response = await fetch(url, { headers: { accept } })
    assert.equal(response.status, 404, accept)
    assert.equal(response.headers.get('vary'), 'accept')
    assert.deepEqual(await response.json(), { message: 'There is nothing at this path.' })
  }
})
