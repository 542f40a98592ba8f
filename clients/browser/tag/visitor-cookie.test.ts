import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { Page } from './page.ts'
import { createVisitorCookie } from './visitor-cookie.ts'

it('is Secure on HTTPS and set on the configured domain', () => {
  const jar = cookieJar('https:')
  const id = createVisitorCookie(jar.page, 'shop.example').id()
  const scope = 'Path=/;SameSite=Lax;Max-Age=34128000;Domain=shop.example;Secure'
  assert.deepEqual(jar.written, [`_sbx=${id};${scope}`])
})

it('is removed on its own domain', () => {
  const jar = cookieJar('http:', 'a=b; _sbx=known; c=d')
  const visitor = createVisitorCookie(jar.page, 'shop.example')
  assert.equal(visitor.id(), 'known')
  assert.equal(visitor.remove(), 'known')
  const scope = 'Path=/;SameSite=Lax;Max-Age=0;Domain=shop.example'
  assert.deepEqual(jar.written, [`_sbx=;${scope}`])
})

it('writes nothing without a cookie to remove', () => {
  const jar = cookieJar('https:', 'my_sbx=other; _sbxx=other')
  assert.equal(createVisitorCookie(jar.page, undefined).remove(), undefined)
  assert.deepEqual(jar.written, [])
})

/** A page that only has cookies; it notes what is written. */
function cookieJar(protocol: string, cookies = ''): { page: Page; written: string[] } {
  const written: string[] = []
  const document = {
    get cookie() {
      return cookies
    },
    set cookie(text: string) {
      written.push(text)
    },
  }
  return { page: { document, location: { protocol } } as unknown as Page, written }
}
