import assert from 'node:assert/strict'
import { it } from 'node:test'
import { BrowserClient } from '../../testing/browser-client.ts'
import { mailedLink } from '../../testing/mailed-link.ts'
import { personUnderTest, TEST_PASSWORD } from '../../testing/people-under-test.ts'
import { type ServiceUnderTest, serviceUnderTest } from '../../testing/service-under-test.ts'

const EMAIL = 'grace@people.example'
const ENTRY = { name: 'Grace', email: EMAIL, password: TEST_PASSWORD }

async function signedUp(service: ServiceUnderTest, entry = ENTRY): Promise<BrowserClient> {
  const client = new BrowserClient(service.url)
  await client.get('/sign-up')
  await client.submit({ fields: entry })
  return client
}

it('whoever signs up confirms the address with link and password, and is signed in', async test => {
  const service = await serviceUnderTest(test)
  const client = await signedUp(service)
  assert.equal(client.page?.status, 200)
  assert.match(client.page?.text ?? '', /Look into your mail/)
  assert.equal(client.cookies.size, 0)
  await client.get(mailedLink(service.mails, EMAIL, '/verify'))
  const page = await client.submit({ fields: { password: TEST_PASSWORD } })
  assert.equal(page.path, '/workspaces')
  assert.equal(page.status, 200)
  assert.deepEqual([...client.cookies.keys()], ['signalbox_session'])
})

it('401 keeps an unconfirmed address out, and only the right password hears why', async test => {
  const service = await serviceUnderTest(test)
  const client = await signedUp(service)
  const tell = async (password: string) => {
    await client.get('/sign-in')
    return client.submit({ fields: { email: EMAIL, password } })
  }
  const right = await tell(TEST_PASSWORD)
  assert.equal(right.status, 401)
  assert.match(right.text, /Confirm your address first/)
  const wrong = await tell('something else')
  assert.equal(wrong.status, 401)
  assert.doesNotMatch(wrong.text, /Confirm your address first/)
})

it('401 does not confirm an address for somebody who did not choose the password', async test => {
  const service = await serviceUnderTest(test)
  await signedUp(service)
  const victim = new BrowserClient(service.url)
  await victim.get(mailedLink(service.mails, EMAIL, '/verify'))
  const page = await victim.submit({ fields: { password: 'not the one that was chosen' } })
  assert.equal(page.status, 401)
  const { rows } = await service.database.pool.query('select email_verified from people.users')
  assert.deepEqual(rows, [{ email_verified: false }])
})

it('a known address gets the same answer as a new one, and its owner a mail', async test => {
  const service = await serviceUnderTest(test)
  const { email } = await personUnderTest(service)
  const known = await signedUp(service, { ...ENTRY, email })
  const fresh = await signedUp(service)
  assert.equal(known.page?.status, fresh.page?.status)
  assert.equal(known.page?.text, fresh.page?.text)
  assert.deepEqual(
    service.mails.map(mail => [mail.to, mail.subject]),
    [
      [email, 'You have an account already'],
      [EMAIL, 'Confirm your address'],
    ],
  )
})

it('422 names every wrong field and keeps what was typed, but not the password', async test => {
  const service = await serviceUnderTest(test)
  const client = await signedUp(service, { name: ' ', email: 'a@b', password: 'short' })
  assert.equal(client.page?.status, 422)
  const text = client.page?.text ?? ''
  for (const field of ['name', 'email', 'password']) {
    assert.match(text, new RegExp(`href="#${field}"`), field)
    assert.match(text, new RegExp(`id="${field}"[^>]*aria-describedby="[^"]*${field}-fault`), field)
  }
  assert.match(text, /value="a@b"/)
  assert.doesNotMatch(text, /short/)
  assert.deepEqual(service.mails, [])
})

it('two sign-ups with one address at once make one account', async test => {
  const service = await serviceUnderTest(test)
  const clients = await Promise.all(Array.from({ length: 4 }, () => signedUp(service)))
  assert.ok(clients.every(({ page }) => (page?.status ?? 0) < 500))
  const { rows } = await service.database.pool.query('select count(*)::int as n from people.users')
  assert.deepEqual(rows, [{ n: 1 }])
})

it('what is typed as a name is shown as text, never as part of a page or of a mail', async test => {
  const service = await serviceUnderTest(test)
  const name = '<script>alert(1)</script>\r\nBcc: everybody@example.com http://evil.example'
  const client = await signedUp(service, { ...ENTRY, name })
  await client.get(mailedLink(service.mails, EMAIL, '/verify'))
  await client.submit({ fields: { password: TEST_PASSWORD } })
  const page = await client.get('/account')
  assert.doesNotMatch(page.text, /<script>/)
  assert.match(page.text, /&#60;script/)
  const [mail] = service.mails
  assert.doesNotMatch(mail?.text ?? '', /^Bcc:|evil\.example\b.*:\/\/|http:\/\/evil/m)
})
