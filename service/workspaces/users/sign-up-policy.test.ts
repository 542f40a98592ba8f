import assert from 'node:assert/strict'
import { it } from 'node:test'
import { SESSION_API_PATH } from '@signalbox/contract/session/session-operation.ts'
import { PageClient } from '../../../testing/fixtures/page-client.ts'
import { startTestService, type TestService } from '../../../testing/fixtures/service.ts'
import { signInByGitHub, standInForGitHub } from '../../../testing/fixtures/social-sign-in.ts'
import {
  createTestUser,
  createTestWorkspace,
  findEmailedLink,
  TEST_PASSWORD,
} from '../../../testing/fixtures/users.ts'
import { findUserByEmail } from './user-store.ts'

function signUp({ url }: TestService, email: string) {
  const fields = { name: 'Grace', email, password: TEST_PASSWORD }
  return new PageClient(url).post('/sign-up', fields)
}

async function invite(service: TestService, email: string): Promise<void> {
  const { owner, workspaceId } = await createTestWorkspace(service)
  const path = `${SESSION_API_PATH}/workspaces/${workspaceId}/invitations`
  const reply = await owner.client.call('POST', path, { body: { email, role: 'member' } })
  assert.equal(reply.status, 201)
}

const isUser = async ({ database }: TestService, email: string) =>
  (await findUserByEmail(database, email)) !== null

it('refuses every sign-up when sign-up is closed, and offers none', async test => {
  const service = await startTestService(test, { signUp: { mode: 'closed', domains: [] } })
  const { email } = await createTestUser(service)
  await invite(service, 'invited@people.example')
  for (const address of ['new@people.example', 'invited@people.example', email]) {
    const page = await signUp(service, address)
    assert.equal(page.status, 403)
    assert.match(page.text, /Sign-up is closed\. Ask the operator/)
  }
  assert.equal(await isUser(service, 'new@people.example'), false)
  const client = new PageClient(service.url)
  const form = await client.get('/sign-up')
  assert.match(form.text, /Sign-up is closed/)
  assert.doesNotMatch(form.text, /<form method="post" action="\/sign-up"/)
  assert.doesNotMatch((await client.get('/sign-in')).text, /\/sign-up/)
  const signedIn = await client.post('/sign-in', { email, password: TEST_PASSWORD })
  assert.equal(signedIn.path, '/workspaces')
})

it('creates accounts for invited addresses only, with the same response for all', async test => {
  const service = await startTestService(test, { signUp: { mode: 'invited', domains: [] } })
  const invited = 'invited@people.example'
  await invite(service, invited)
  const { email: registered } = await createTestUser(service)
  const form = await new PageClient(service.url).get('/sign-up')
  assert.match(form.text, /Use the address that a workspace has invited/)
  const before = service.mails.length
  const pages = []
  for (const address of [invited, 'stranger@people.example', registered]) {
    const { status, text } = await signUp(service, address)
    pages.push({ status, text })
  }
  assert.deepEqual(pages[1], pages[0])
  assert.deepEqual(pages[2], pages[0])
  assert.match(pages[0]?.text ?? '', /If this address is invited or has an account/)
  assert.deepEqual(
    service.mails.slice(before).map(({ to }) => to),
    [invited, registered],
  )
  assert.equal(await isUser(service, 'stranger@people.example'), false)
  const client = new PageClient(service.url)
  await client.get(findEmailedLink(service.mails, invited, '/verify'))
  assert.equal((await client.submit({ fields: { password: TEST_PASSWORD } })).path, '/workspaces')
})

it('no longer creates an account after the invitation is withdrawn or has expired', async test => {
  const service = await startTestService(test, { signUp: { mode: 'invited', domains: [] } })
  await invite(service, 'invited@people.example')
  service.clock.advance(7 * 86_400)
  assert.equal((await signUp(service, 'invited@people.example')).status, 200)
  assert.equal(await isUser(service, 'invited@people.example'), false)
})

it('restricts sign-up to domains, and names them', async test => {
  const domains = ['shop.example', 'agency.example']
  const service = await startTestService(test, { signUp: { mode: 'open', domains } })
  const form = await new PageClient(service.url).get('/sign-up')
  assert.match(form.text, /Use an address of shop\.example or agency\.example/)
  for (const email of ['a@shop.example', 'b@AGENCY.example']) {
    assert.equal((await signUp(service, email)).status, 200)
    assert.equal(await isUser(service, email.toLowerCase()), true)
  }
  for (const email of ['c@evil.example', 'd@x.shop.example', 'e@shop.example.evil.example']) {
    const page = await signUp(service, email)
    assert.equal(page.status, 422)
    assert.match(page.text, /Use an address of shop\.example or agency\.example/)
    assert.equal(await isUser(service, email), false)
  }
})

const client = { clientId: 'our-id', clientSecret: 'our-secret' }

for (const [mode, domains, isAllowed] of [
  ['closed', [], false],
  ['invited', [], false],
  ['open', ['shop.example'], false],
  ['open', ['people.example'], true],
] as const) {
  it(`a provider ${isAllowed ? 'creates' : 'does not create'} an account: ${mode}, [${domains}]`, async test => {
    const service = await startTestService(test, {
      signUp: { mode, domains },
      social: { github: client },
    })
    const email = 'ada@people.example'
    standInForGitHub(test, { id: 7, email, isVerified: true })
    const browser = await signInByGitHub(service)
    assert.equal(await isUser(service, email), isAllowed)
    if (isAllowed) assert.equal(browser.page?.path, '/account')
    else assert.match(browser.page?.text ?? '', /does not let this address create an account/)
  })
}

it('signs in an existing account by a provider when sign-up is closed', async test => {
  const service = await startTestService(test, {
    signUp: { mode: 'closed', domains: [] },
    social: { github: client },
  })
  const { email } = await createTestUser(service)
  standInForGitHub(test, { id: 7, email, isVerified: true })
  assert.equal((await signInByGitHub(service)).page?.path, '/account')
})
