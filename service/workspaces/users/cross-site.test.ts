import assert from 'node:assert/strict'
import { it } from 'node:test'
import { SESSION_API_PATH } from '@signalbox/contract/session/session-operation.ts'
import { PageClient } from '../../../testing/fixtures/page-client.ts'
import { startTestService, type TestService } from '../../../testing/fixtures/service.ts'
import {
  createTestUser,
  createTestWorkspace,
  type TestUser,
} from '../../../testing/fixtures/users.ts'

const EVIL = 'https://evil.example'

/**
 * What a browser, or a client that imitates one, may send about the origin of a request.
 */
const FOREIGN: Record<string, Record<string, string>> = {
  'a form of another site': { origin: EVIL, 'sec-fetch-site': 'cross-site' },
  'another site, in a browser without Sec-Fetch-Site': { origin: EVIL },
  'another site whose Origin was taken away': { 'sec-fetch-site': 'cross-site' },
  'a sibling domain': { 'sec-fetch-site': 'same-site' },
  'a sandboxed frame or a redirect': { origin: 'null', 'sec-fetch-site': 'cross-site' },
  'a navigation from another site': { 'sec-fetch-site': 'none', origin: EVIL },
  'no browser at all': {},
}

function sent(user: TestUser, method: string, headers: Record<string, string>) {
  const cookie = user.client.cookieHeader
  return { method, redirect: 'manual', headers: { cookie, ...headers } } as const
}

it('returns 403 for every form sent from another site', async test => {
  const service = await startTestService(test)
  const { owner } = await createTestWorkspace(service)
  const paths = [
    ...['/sign-in', '/sign-up', '/sign-out', '/forgot', '/magic', '/reset', '/verify'],
    ...['/account/password', '/account/sessions/end-others'],
    '/invitations/019aa6a5-b000-7f3c-9a41-2f0c4a1c7c11',
  ]
  for (const path of paths) {
    for (const [who, headers] of Object.entries(FOREIGN)) {
      const body = new URLSearchParams({ name: 'x' })
      const response = await fetch(`${service.url}${path}`, {
        ...sent(owner, 'POST', headers),
        body,
      })
      assert.equal(response.status, 403, `${path}: ${who}`)
      assert.match(response.headers.get('content-type') ?? '', /^text\/html/)
    }
  }
  assert.equal((await owner.client.get('/account')).path, '/account', 'still signed in')
})

it('accepts forms of our own pages, also from a browser without Sec-Fetch-Site', async test => {
  const service = await startTestService(test)
  for (const headers of [
    { origin: service.url, 'sec-fetch-site': 'same-origin' },
    { origin: service.url },
    { 'sec-fetch-site': 'same-origin' },
  ]) {
    const user = await createTestUser(service)
    const body = new URLSearchParams()
    const response = await fetch(`${service.url}/account/sessions/end-others`, {
      ...sent(user, 'POST', headers),
      body,
    })
    assert.equal(response.status, 303, JSON.stringify(headers))
  }
})

it('returns 403 or 415 when another site calls the browser API', async test => {
  const service = await startTestService(test)
  const user = await createTestUser(service)
  const url = `${service.url}${SESSION_API_PATH}/workspaces`
  for (const [who, headers] of Object.entries(FOREIGN)) {
    const body = JSON.stringify({ name: 'Theirs' })
    const json = { ...headers, 'content-type': 'application/json' }
    const response = await fetch(url, { ...sent(user, 'POST', json), body })
    assert.equal(response.status, 403, who)
  }
  const foreignReading = { 'sec-fetch-site': 'cross-site', origin: EVIL }
  assert.equal((await fetch(url, sent(user, 'GET', foreignReading))).status, 403)
  const own = { origin: service.url, 'sec-fetch-site': 'same-origin' }
  for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data']) {
    const response = await fetch(url, {
      ...sent(user, 'POST', { ...own, 'content-type': type }),
      body: '{"name":"Theirs"}',
    })
    assert.equal(response.status, 415, type)
  }
  const { body } = await user.client.call('GET', `${SESSION_API_PATH}/workspaces`)
  assert.deepEqual(body, { workspaces: [] })
})

it('returns 401 without a bearer challenge when a script has no session', async test => {
  const service = await startTestService(test)
  const response = await fetch(`${service.url}${SESSION_API_PATH}/me`, {
    headers: { authorization: `Bearer ${service.tracker.trackerSecret}` },
  })
  assert.equal(response.status, 401)
  assert.equal(response.headers.get('www-authenticate'), 'Session')
  assert.deepEqual(await response.json(), { message: 'Unauthenticated.' })
})

it('sends headers against framing, scripts, other origins and caching with every page', async test => {
  const service = await startTestService(test)
  const { owner } = await createTestWorkspace(service)
  const paths = [
    ...['/sign-in', '/sign-up', '/verify', '/forgot', '/magic', '/reset?token=x', '/account'],
    '/w/999999/people',
  ]
  for (const path of paths) {
    // Who is signed in is led on from there, to a page of the app.
    const client = path === '/sign-in' ? new PageClient(service.url) : owner.client
    const { headers, text } = await client.get(path)
    assert.equal(
      headers.get('content-security-policy'),
      "default-src 'none'; style-src 'self'; img-src 'self' data:; form-action 'self'; " +
        "frame-ancestors 'none'; base-uri 'none'",
      path,
    )
    assert.equal(headers.get('x-frame-options'), 'DENY')
    assert.equal(headers.get('referrer-policy'), 'same-origin')
    assert.equal(headers.get('cache-control'), 'no-store')
    assert.equal(headers.get('x-content-type-options'), 'nosniff')
    assert.ok(headers.get('request-id'))
    assert.doesNotMatch(text, /<script|<style| style="| on[a-z]+="/)
  }
})

it('caches the style sheet forever under a name derived from its content', async test => {
  const service = await startTestService(test)
  const [, path] = /href="(\/assets\/[0-9a-f]{16}\.css)"/.exec(await signInPage(service)) ?? []
  const response = await fetch(`${service.url}${path}`)
  assert.equal(response.status, 200)
  assert.equal(response.headers.get('content-type'), 'text/css; charset=utf-8')
  assert.equal(response.headers.get('cache-control'), 'public, max-age=31536000, immutable')
})

it('starts links in emails with our origin for any Host header', async test => {
  const publicOrigin = 'https://signalbox.example'
  const service = await startTestService(test, { publicOrigin })
  const { email } = await createTestUser(service)
  for (const path of ['/forgot', '/magic']) {
    const response = await fetch(`${service.url}${path}`, {
      method: 'POST',
      headers: {
        origin: publicOrigin,
        'x-forwarded-host': 'evil.example',
        'x-forwarded-proto': 'http',
        forwarded: 'host=evil.example',
      },
      body: new URLSearchParams({ email }),
    })
    assert.equal(response.status, 200)
  }
  assert.equal(service.mails.length, 2)
  for (const { text } of service.mails) {
    assert.match(text, /https:\/\/signalbox\.example\/(reset|magic)\?token=/)
    assert.doesNotMatch(text, /evil|http:\/\//)
  }
})

async function signInPage({ url }: TestService): Promise<string> {
  return (await fetch(`${url}/sign-in`)).text()
}
