import assert from 'node:assert/strict'
import { it } from 'node:test'
import { SESSION_API_PATH } from '@signalbox/contract/session/session-operation.ts'
import { PageClient } from '../../../testing/fixtures/page-client.ts'
import { startTestService } from '../../../testing/fixtures/service.ts'
import {
  createSignedInClient,
  createTestUser,
  TEST_PASSWORD,
} from '../../../testing/fixtures/users.ts'
import { createPasswordHash } from './password-hash.ts'
import { setPassword } from './user-store.ts'

const NEXT = 'another long password'

it('gives this browser a new session and ends all others after a password change', async test => {
  const service = await startTestService(test)
  const { userId, email, client } = await createTestUser(service)
  const other = await createSignedInClient(service, userId)
  const before = client.cookies.get('signalbox_session')
  await client.get('/account')
  const page = await client.submit({
    action: '/account/password',
    fields: { current: TEST_PASSWORD, password: NEXT },
  })
  assert.match(page.text, /Password changed/)
  assert.notEqual(client.cookies.get('signalbox_session'), before)
  assert.match((await other.get('/account')).path, /^\/sign-in/)
  const thief = new PageClient(service.url)
  thief.cookies.set('signalbox_session', before ?? '')
  assert.match((await thief.get('/account')).path, /^\/sign-in/)
  const fresh = new PageClient(service.url)
  assert.equal((await fresh.post('/sign-in', { email, password: TEST_PASSWORD })).status, 401)
  assert.equal((await fresh.post('/sign-in', { email, password: NEXT })).status, 200)
})

it('returns 422 for a wrong current password and for a short, unchanged or address-like new one', async test => {
  const service = await startTestService(test)
  const { client, email } = await createTestUser(service)
  const wrong: [string, string, string][] = [
    ['not it', NEXT, 'current'],
    [TEST_PASSWORD, 'short', 'password'],
    [TEST_PASSWORD, TEST_PASSWORD, 'password'],
    [TEST_PASSWORD, email, 'password'],
    [TEST_PASSWORD, 'aaaaaaaaaaaa', 'password'],
    [TEST_PASSWORD, 'x'.repeat(129), 'password'],
  ]
  for (const [current, password, field] of wrong) {
    const page = await client.post('/account/password', { current, password })
    assert.equal(page.status, 422, password)
    assert.match(page.text, new RegExp(`href="#${field}"`), password)
  }
  assert.equal((await client.get('/account')).path, '/account')
})

it('allows only the password page until a generated password is changed', async test => {
  const service = await startTestService(test)
  const { userId, client } = await createTestUser(service)
  const generated = {
    passwordHash: await createPasswordHash(TEST_PASSWORD),
    at: service.clock.now(),
  }
  await setPassword(service.database, userId, { ...generated, mustChangePassword: true })
  for (const path of ['/workspaces', '/account', '/w/1/people']) {
    assert.equal((await client.get(path)).path, '/account/password', path)
  }
  assert.equal((await client.call('GET', `${SESSION_API_PATH}/me`)).status, 403)
  await client.get('/account/password')
  await client.submit({ fields: { current: TEST_PASSWORD, password: NEXT } })
  assert.equal((await client.get('/workspaces')).path, '/workspaces')
  assert.equal((await client.call('GET', `${SESSION_API_PATH}/me`)).status, 200)
})

it('lists active sessions and ends one or all others', async test => {
  const service = await startTestService(test)
  const { userId, client } = await createTestUser(service)
  const [second, third] = [
    await createSignedInClient(service, userId),
    await createSignedInClient(service, userId),
  ]
  const list = await client.call('GET', `${SESSION_API_PATH}/sessions`)
  assert.equal(list.body.sessions.length, 3)
  assert.equal(
    list.body.sessions.filter((one: { is_current: boolean }) => one.is_current).length,
    1,
  )
  const newest = list.body.sessions[0].id
  await client.get('/account')
  await client.submit({ action: `/account/sessions/${newest}/end` })
  assert.match((await third.get('/account')).path, /^\/sign-in/)
  assert.equal((await second.get('/account')).path, '/account')
  await client.get('/account')
  await client.submit({ action: '/account/sessions/end-others' })
  assert.match((await second.get('/account')).path, /^\/sign-in/)
  assert.equal((await client.get('/account')).path, '/account')
})

it("returns 404 for another person's session and does not end it", async test => {
  const service = await startTestService(test)
  const [one, other] = [await createTestUser(service), await createTestUser(service)]
  const { body } = await other.client.call('GET', `${SESSION_API_PATH}/me`)
  const path = `${SESSION_API_PATH}/sessions/${body.session_id}`
  assert.equal((await one.client.call('DELETE', path)).status, 404)
  assert.equal((await one.client.post(`/account/sessions/${body.session_id}/end`)).status, 404)
  assert.equal((await other.client.get('/account')).path, '/account')
})
