import assert from 'node:assert/strict'
import { it } from 'node:test'
import { startTestService, type TestService } from '../../../testing/fixtures/service.ts'

it('serves each page as HTML and, with .md, as Markdown', async test => {
  const service = await startTestService(test)
  for (const path of ['/docs', '/docs/quick-start', '/docs/api', '/docs/statuses']) {
    const page = await get(service, path)
    assert.equal(page.status, 200)
    assert.equal(page.headers.get('content-type'), 'text/html; charset=utf-8')
    assert.match(page.text, /^<!doctype html>/)
    const markdown = await get(service, `${path}.md`)
    assert.equal(markdown.status, 200)
    assert.equal(markdown.headers.get('content-type'), 'text/markdown; charset=utf-8')
    assert.equal(markdown.headers.get('access-control-allow-origin'), '*')
    assert.match(markdown.text, /^# /)
  }
})

it('sends pages with a content security policy that allows no script', async test => {
  const service = await startTestService(test)
  for (const path of ['/docs', '/docs/api', '/docs/search?q=replay', '/docs/nowhere']) {
    const { headers } = await get(service, path)
    const policy = headers.get('content-security-policy') ?? ''
    assert.match(policy, /^default-src 'none'; style-src 'self'; /)
    assert.doesNotMatch(policy, /script-src|unsafe/)
    assert.equal(headers.get('x-frame-options'), 'DENY')
  }
})

it('inserts the address of the installation into examples, never the Host header', async test => {
  const service = await startTestService(test)
  for (const path of ['/docs/quick-start', '/docs/quick-start.md', '/docs/api', '/llms-full.txt']) {
    const { text } = await get(service, path, { host: 'evil.example' })
    assert.ok(text.includes(`${service.url}/api/v1/events`), path)
    assert.doesNotMatch(
      text,
      /\{site_origin\}|\{base_url\}|evil\.example|http:\/\/127\.0\.0\.1:3000/,
    )
  }
})

it('returns 304 for a matching If-None-Match', async test => {
  const service = await startTestService(test)
  for (const path of ['/docs', '/docs/erasure', '/docs/erasure.md', '/llms-full.txt']) {
    const first = await get(service, path)
    const etag = first.headers.get('etag') ?? ''
    assert.match(etag, /^"[\w-]{43}"$/)
    assert.equal(first.headers.get('cache-control'), 'public, max-age=300')
    const again = await get(service, path, { 'if-none-match': etag })
    assert.equal(again.status, 304)
    assert.equal(again.text, '')
    assert.equal(again.headers.get('etag'), etag)
    assert.equal(again.headers.get('content-type'), null)
    assert.equal((await get(service, path, { 'if-none-match': '"other"' })).status, 200)
  }
})

it('serves the style sheet that the pages name, for good', async test => {
  const service = await startTestService(test)
  const { text } = await get(service, '/docs')
  const [, path = ''] = /rel="stylesheet" href="([^"]+)"/.exec(text) ?? []
  const sheet = await get(service, path)
  assert.equal(sheet.status, 200)
  assert.equal(sheet.headers.get('content-type'), 'text/css; charset=utf-8')
  assert.match(sheet.headers.get('cache-control') ?? '', /immutable/)
  assert.equal((await get(service, '/docs/assets/other.css')).status, 404)
})

it('shows a page for an unknown address, and JSON for unknown Markdown', async test => {
  const service = await startTestService(test)
  for (const path of ['/docs/nowhere', '/docs/%3Cb%3E', '/docs/..%2F..%2Fpackage.json']) {
    const page = await get(service, path)
    assert.equal(page.status, 404)
    assert.match(page.text, /<h1>Page not found<\/h1>/)
    assert.doesNotMatch(page.text, /<b>/)
  }
  const markdown = await get(service, '/docs/nowhere.md')
  assert.equal(markdown.status, 404)
  assert.deepEqual(JSON.parse(markdown.text), { message: 'There is no such page.' })
})

it('finds sections by all of their words, the best first', async test => {
  const service = await startTestService(test)
  const { status, text } = await get(service, '/docs/search?q=Publishable+ORIGIN')
  assert.equal(status, 200)
  const results = [...text.matchAll(/<li>\s*<a href="([^"]+)">/g)].map(([, path]) => path)
  assert.ok(results.length > 2 && results.length <= 20)
  assert.ok(results.includes('/docs/browser-keys#origins'))
  const nothing = await get(service, '/docs/search?q=xyzzy+replay')
  assert.match(nothing.text, /No page has all of these words/)
  assert.equal((await get(service, '/docs/search')).status, 200)
})

it('ignores common words in a search, and finds a subsection by the heading above it', async test => {
  const service = await startTestService(test)
  const find = async (query: string) => {
    const { text } = await get(service, `/docs/search?q=${encodeURIComponent(query)}`)
    return [...text.matchAll(/<li>\s*<a href="([^"]+)">/g)].map(([, path]) => path)
  }
  assert.deepEqual(await find('How do I rotate a key?'), await find('rotate key'))
  assert.ok((await find('rotate key')).slice(0, 3).includes('/docs/rotate-keys'))
  assert.ok((await find('422 currency')).includes('/docs/refusals#currency_required'))
  assert.ok((await find('what')).length > 0)
})

it('escapes what was searched for, and reads at most 100 characters of it', async test => {
  const service = await startTestService(test)
  const { text } = await get(service, `/docs/search?q=${encodeURIComponent('<img src=x>$&{body}')}`)
  assert.doesNotMatch(text, /<img/)
  assert.match(text, /&#60;img src[^<>]+x&#62;[^<>]+body/)
  assert.equal(text.match(/<main/g)?.length, 1)
  const long = await get(service, `/docs/search?q=${'y'.repeat(3_000)}`)
  assert.ok(long.text.includes(`“${'y'.repeat(100)}”`))
})

it('lists the pages in /llms.txt', async test => {
  const service = await startTestService(test)
  const { text } = await get(service, '/llms.txt')
  for (const name of ['/docs.md', '/docs/quick-start.md', '/docs/api.md']) {
    assert.ok(text.includes(`(${service.url}${name})`), name)
  }
  assert.ok(text.includes(`(${service.url}/llms-full.txt)`))
})

async function get({ url }: TestService, path: string, headers: Record<string, string> = {}) {
  const response = await fetch(url + path, { headers })
  return { status: response.status, headers: response.headers, text: await response.text() }
}
