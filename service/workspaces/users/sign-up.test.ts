import assert from 'node:assert/strict'
import { it } from 'node:test'
import { PageClient } from '../../../testing/fixtures/page-client.ts'
import { startTestService, type TestService } from '../../../testing/fixtures/service.ts'
import { createTestUser, findEmailedLink, TEST_PASSWORD } from '../../../testing/fixtures/users.ts'

const EMAIL = 'grace@people.example'
const ENTRY = { name: 'Grace', email: EMAIL, password: TEST_PASSWORD }

async function signedUp(service: TestService, entry = ENTRY): Promise<PageClient> {
  const client = new PageClient(service.url)
  await client.get('/sign-up')
  await client.submit({ fields: entry })
  return client
}

it('verifies the address by link and password after sign-up and signs in', async test => {
  const service = await startTestService(test)
  const client = await signedUp(service)
  assert.equal(client.page?.status, 200)
  assert.match(client.page?.text ?? '', /Check your email/)
  assert.equal(client.cookies.size, 0)
  await client.get(findEmailedLink(service.mails, EMAIL, '/verify'))
  const page = await client.submit({ fields: { password: TEST_PASSWORD } })
  assert.equal(page.path, '/workspaces')
  assert.equal(page.status, 200)
  assert.deepEqual([...client.cookies.keys()], ['signalbox_session', 'signalbox_device'])
})

it('returns 401 for an unverified address and explains it only for the right password', async test => {
  const service = await startTestService(test)
  const client = await signedUp(service)
  const tell = async (password: string) => {
    await client.get('/sign-in')
    return client.submit({ fields: { email: EMAIL, password } })
  }
  const right = await tell(TEST_PASSWORD)
  assert.equal(right.status, 401)
  assert.match(right.text, /Confirm your email first/)
  const wrong = await tell('something else')
  assert.equal(wrong.status, 401)
  assert.doesNotMatch(wrong.text, /Confirm your email first/)
})

it('returns 401 and does not verify an address without the password from sign-up', async test => {
  const service = await startTestService(test)
  await signedUp(service)
  const victim = new PageClient(service.url)
  await victim.get(findEmailedLink(service.mails, EMAIL, '/verify'))
  const page = await victim.submit({ fields: { password: 'not the one that was chosen' } })
  assert.equal(page.status, 401)
  const { rows } = await service.database.pool.query('select email_verified from people.users')
  assert.deepEqual(rows, [{ email_verified: false }])
})

it('responds to a registered address as to a new one and emails its owner', async test => {
  const service = await startTestService(test)
  const { email } = await createTestUser(service)
  const known = await signedUp(service, { ...ENTRY, email })
  const fresh = await signedUp(service)
  assert.equal(known.page?.status, fresh.page?.status)
  assert.equal(known.page?.text, fresh.page?.text)
  assert.deepEqual(
    service.mails.map(mail => [mail.to, mail.subject]),
    [
      [email, 'You already have an account'],
      [EMAIL, 'Confirm your email'],
    ],
  )
})

it('returns 422 naming every invalid field and keeps all values except the password', async test => {
  const service = await startTestService(test)
  const client = await signedUp(service, { name: ' ', email: 'a@b', password: 'short' })
  assert.equal(client.page?.status, 422)
  const text = client.page?.text ?? ''
  for (const field of ['name', 'email', 'password']) {
    assert.match(text, new RegExp(`href="#${field}"`), field)
    assert.match(text, new RegExp(`id="${field}"[^>]*aria-describedby="[^"]*${field}-error`), field)
  }
  assert.match(text, /value="a@b"/)
  assert.doesNotMatch(text, /short/)
  assert.deepEqual(service.mails, [])
})

it('creates one account for two concurrent sign-ups with one address', async test => {
  const service = await startTestService(test)
  const clients = await Promise.all(Array.from({ length: 4 }, () => signedUp(service)))
  assert.ok(clients.every(({ page }) => (page?.status ?? 0) < 500))
  const { rows } = await service.database.pool.query('select count(*)::int as n from people.users')
  assert.deepEqual(rows, [{ n: 1 }])
})

it('escapes names in pages', async test => {
  const service = await startTestService(test)
  const name = '<script>alert(1)</script>'
  const client = await signedUp(service, { ...ENTRY, name })
  await client.get(findEmailedLink(service.mails, EMAIL, '/verify'))
  await client.submit({ fields: { password: TEST_PASSWORD } })
  const page = await client.get('/account')
  assert.doesNotMatch(page.text, /<script>/)
  assert.match(page.text, /&#60;script/)
  assert.match(service.mails[0]?.text ?? '', /^Hello <script>alert\(1\)<\/script>,$/m)
})
