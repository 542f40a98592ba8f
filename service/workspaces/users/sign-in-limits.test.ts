import assert from 'node:assert/strict'
import { it } from 'node:test'
import { PageClient } from '../../../testing/fixtures/page-client.ts'
import { startTestService } from '../../../testing/fixtures/service.ts'
import { createTestUser, TEST_PASSWORD } from '../../../testing/fixtures/users.ts'

const limits = { signInRatePerMinute: 30 }
const steadySeconds = () => 0

it('returns 429 after ten attempts on one account from any address, even with the right password', async test => {
  const proxy = '127.0.0.1'
  const service = await startTestService(test, {
    limits,
    monotonicSeconds: steadySeconds,
    trustedProxies: proxy,
  })
  const { email } = await createTestUser(service)
  const guess = (password: string, index: number) =>
    new PageClient(service.url)
      .get('/sign-in')
      .then(async () =>
        new PageClient(service.url).post(
          '/sign-in',
          { email, password },
          { 'x-forwarded-for': `192.0.2.${index}` },
        ),
      )
  const guesses = await Promise.all(
    Array.from({ length: 15 }, (_, index) => guess(`guess ${index}`, index)),
  )
  assert.equal(guesses.filter(({ status }) => status === 401).length, 10)
  assert.equal(guesses.filter(({ status }) => status === 429).length, 5)
  const right = await guess(TEST_PASSWORD, 99)
  assert.equal(right.status, 429)
  assert.ok(Number(right.headers.get('retry-after')) > 0)
  assert.match(right.text, /Too many attempts/)
})

it('returns 429 after as many attempts on an unknown account as on a known one', async test => {
  const service = await startTestService(test, { limits, monotonicSeconds: steadySeconds })
  const client = new PageClient(service.url)
  const statuses: number[] = []
  for (let count = 0; count < 12; count += 1) {
    const page = await client.post('/sign-in', { email: 'no@body.example', password: 'x' })
    statuses.push(page.status)
  }
  assert.deepEqual(statuses, [...Array(10).fill(401), 429, 429])
})

it('counts all ways to sign in toward the limit of an address, but no page views', async test => {
  const service = await startTestService(test, { limits, monotonicSeconds: steadySeconds })
  const client = new PageClient(service.url)
  const paths = ['/sign-in', '/sign-up', '/forgot', '/magic', '/verify', '/reset']
  for (let count = 0; count < 30; count += 1) {
    const page = await client.post(paths[count % paths.length] ?? '', { email: `${count}@a.b` })
    assert.notEqual(page.status, 429)
  }
  for (const path of paths) assert.equal((await client.post(path)).status, 429, path)
  for (let count = 0; count < 40; count += 1) {
    assert.equal((await client.get('/sign-in')).status, 200)
  }
})
