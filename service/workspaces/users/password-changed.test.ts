import assert from 'node:assert/strict'
import { it } from 'node:test'
import { PageClient } from '../../../testing/fixtures/page-client.ts'
import { startTestService, type TestService } from '../../../testing/fixtures/service.ts'
import { createTestUser, findEmailedLink, TEST_PASSWORD } from '../../../testing/fixtures/users.ts'
import { setUserStatus } from './user-store.ts'

const NEXT_PASSWORD = 'a better horse'
const THIEF_PASSWORD = 'stolen by a thief'

async function requestLink(service: TestService, path: string, email: string): Promise<string> {
  const page = await new PageClient(service.url).post(path, { email })
  assert.equal(page.status, 200)
  return findEmailedLink(service.mails, email, path === '/forgot' ? '/reset' : path)
}

/** The status of following a link and pressing its button. */
async function follow(service: TestService, link: string): Promise<number> {
  const client = new PageClient(service.url)
  await client.get(link)
  const page = await client.submit({ fields: { password: THIEF_PASSWORD } })
  return page.status
}

const CHANGES: Record<string, (service: TestService, user: TestUserLike) => Promise<unknown>> = {
  'the account page': (_, { client }) =>
    client.post('/account/password', { current: TEST_PASSWORD, password: NEXT_PASSWORD }),
  'a reset': async (service, { email }) => {
    const client = new PageClient(service.url)
    await client.get(await requestLink(service, '/forgot', email))
    return client.submit({ fields: { password: NEXT_PASSWORD } })
  },
}

type TestUserLike = Awaited<ReturnType<typeof createTestUser>>

for (const [place, change] of Object.entries(CHANGES)) {
  it(`ends all earlier links and tells the person when the password changes by ${place}`, async test => {
    const service = await startTestService(test)
    const user = await createTestUser(service)
    const other = await createTestUser(service)
    const links = [
      await requestLink(service, '/forgot', user.email),
      await requestLink(service, '/magic', user.email),
    ]
    const otherLink = await requestLink(service, '/magic', other.email)
    await change(service, user)

    const mail = service.mails.at(-1)
    assert.equal(mail?.to, user.email)
    assert.equal(mail?.subject, 'Your password was changed')
    assert.match(mail?.text ?? '', /2026-\d\d-\d\d \d\d:\d\d UTC/)
    assert.match(mail?.text ?? '', new RegExp(`${service.url}/forgot`))
    for (const link of links) assert.equal(await follow(service, link), 400, link)
    const signIn = (password: string) =>
      new PageClient(service.url).post('/sign-in', { email: user.email, password })
    assert.equal((await signIn(THIEF_PASSWORD)).status, 401)
    assert.equal((await signIn(NEXT_PASSWORD)).status, 200)
    assert.equal(await follow(service, otherLink), 200, 'the link of another person')
  })
}

it('sends no email for a password change that is refused', async test => {
  const service = await startTestService(test)
  const { client, email } = await createTestUser(service)
  const link = await requestLink(service, '/magic', email)
  const page = await client.post('/account/password', { current: 'wrong', password: NEXT_PASSWORD })
  assert.equal(page.status, 422)
  assert.equal(service.mails.length, 1)
  assert.equal(await follow(service, link), 200)
})

it('ends the links of a person who is disabled, also after enabling', async test => {
  const service = await startTestService(test)
  const { email } = await createTestUser(service)
  const links = [
    await requestLink(service, '/forgot', email),
    await requestLink(service, '/magic', email),
  ]
  await setUserStatus(service.database, email, 'disabled')
  await setUserStatus(service.database, email, 'active')
  for (const link of links) assert.equal(await follow(service, link), 400, link)
})
