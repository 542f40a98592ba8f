import assert from 'node:assert/strict'
import { it } from 'node:test'
import { SESSION_API_PATH } from '@signalbox/contract/session/session-operation.ts'
import { setUpAuthenticatorApp } from '../../../testing/fixtures/authenticator-app.ts'
import { startTestService } from '../../../testing/fixtures/service.ts'
import {
  addMember,
  createTestUser,
  createTestWorkspace,
  TEST_PASSWORD,
} from '../../../testing/fixtures/users.ts'

const RECENT_SECONDS = 15 * 60

it('issues an execution token only within 15 minutes of signing in or confirming', async test => {
  const service = await startTestService(test)
  const { owner, workspaceId, adAccountId } = await createTestWorkspace(service)
  const { client } = owner
  const path = `${SESSION_API_PATH}/workspaces/${workspaceId}/execution-tokens`
  const body = { name: 'CI', tier: 'read', days: 30, ad_account_id: adAccountId }
  const issue = async () => (await client.call('POST', path, { body })).status
  const isConfirmed = async () =>
    (await client.call('GET', `${SESSION_API_PATH}/me`)).body.is_identity_confirmed
  service.clock.advance(RECENT_SECONDS - 1)
  assert.deepEqual([await isConfirmed(), await issue()], [true, 201])
  service.clock.advance(1)
  assert.deepEqual([await isConfirmed(), await issue()], [false, 403])
  const page = `/w/${workspaceId}/tokens`
  await client.get(`/account/confirm?return_to=${encodeURIComponent(page)}`)
  assert.equal((await client.submit({ fields: { password: 'not it' } })).status, 422)
  const before = client.cookies.get('signalbox_session')
  assert.equal((await client.submit({ fields: { password: TEST_PASSWORD } })).path, page)
  assert.notEqual(client.cookies.get('signalbox_session'), before)
  assert.deepEqual([await isConfirmed(), await issue()], [true, 201])
})

it('returns 403 from the browser API for a token without a recent confirmation', async test => {
  const service = await startTestService(test)
  const { owner, workspaceId, adAccountId } = await createTestWorkspace(service)
  service.clock.advance(RECENT_SECONDS)
  const { status, body } = await owner.client.call(
    'POST',
    `${SESSION_API_PATH}/workspaces/${workspaceId}/execution-tokens`,
    { body: { name: 'CI', tier: 'read', days: 30, ad_account_id: adAccountId } },
  )
  assert.equal(status, 403)
  assert.match(body.message, /Confirm your identity first/)
})

it('grants a role that decides only after a recent confirmation', async test => {
  const service = await startTestService(test)
  const { owner, workspaceId } = await createTestWorkspace(service)
  const { userId } = await createTestUser(service)
  await addMember(service, { workspaceId, userId, role: 'member' })
  service.clock.advance(RECENT_SECONDS)
  const path = `${SESSION_API_PATH}/workspaces/${workspaceId}`
  const call = async (method: string, below: string, body: object) =>
    (await owner.client.call(method, `${path}/${below}`, { body })).status
  const grant = () => call('PATCH', `members/${userId}`, { role: 'owner' })
  const invite = (role: string) =>
    call('POST', 'invitations', { email: `${role}@people.example`, role })
  assert.equal(await grant(), 403)
  assert.equal(await invite('owner'), 403)
  assert.equal(await invite('admin'), 403)
  assert.equal(await invite('member'), 201)
  await owner.client.post('/account/confirm', { password: TEST_PASSWORD })
  assert.equal(await invite('admin'), 201)
  assert.equal(await grant(), 204)
  assert.equal(await invite('owner'), 201)
})

it('asks a person with an authenticator app for the password and a code', async test => {
  const service = await startTestService(test)
  const { client } = await createTestUser(service)
  const { app } = await setUpAuthenticatorApp(client)
  service.clock.advance(RECENT_SECONDS)
  const next = { current: TEST_PASSWORD, password: 'plum anvil teacup' }
  assert.equal((await client.post('/account/password', next)).status, 403)
  assert.equal((await client.post('/account/authenticator/remove')).status, 403)
  const password = TEST_PASSWORD
  assert.equal((await client.post('/account/confirm', { password })).status, 422)
  assert.equal((await client.post('/account/confirm', { code: app.code(1) })).status, 422)
  const page = await client.post('/account/confirm', { password, code: app.code(1) })
  assert.equal(page.path, '/workspaces')
  assert.equal((await client.post('/account/password', next)).path.split('?')[0], '/account')
})

it('keeps the session and its second factor across a password change', async test => {
  const service = await startTestService(test)
  const { client } = await createTestUser(service)
  await setUpAuthenticatorApp(client)
  const password = 'plum anvil teacup'
  const page = await client.post('/account/password', { current: TEST_PASSWORD, password })
  assert.match(page.text, /Password changed/)
  assert.equal((await client.get('/account/recovery-codes')).status, 200)
})

it('sets the first password of a person only after a recent sign-in', async test => {
  const service = await startTestService(test)
  const { client, userId } = await createTestUser(service)
  await service.database.pool.query('delete from people.accounts where user_id = $1', [userId])
  service.clock.advance(RECENT_SECONDS)
  const password = 'plum anvil teacup'
  assert.equal((await client.post('/account/password', { password })).status, 403)
  assert.match((await client.get('/account/confirm')).text, /You have no password/)
  assert.equal((await client.post('/account/confirm', { password: '' })).status, 422)
})

it('opens a workspace that requires a second factor only to sessions that used one', async test => {
  const service = await startTestService(test)
  const { owner, workspaceId } = await createTestWorkspace(service)
  const member = await createTestUser(service)
  await addMember(service, { workspaceId, userId: member.userId, role: 'admin' })
  const path = `/w/${workspaceId}/people`
  const security = `${SESSION_API_PATH}/workspaces/${workspaceId}/security`
  const demand = async ({ client }: typeof member, isRequired: boolean) =>
    (await client.call('PUT', security, { body: { second_factor_required: isRequired } })).status
  assert.equal(await demand(owner, true), 403, 'an owner without a second factor')
  await setUpAuthenticatorApp(owner.client)
  assert.equal(await demand(owner, true), 204)
  const { body } = await owner.client.call('GET', `${SESSION_API_PATH}/workspaces`)
  assert.equal(body.workspaces[0].requires_second_factor, true)

  const refused = await member.client.get(path)
  assert.equal(refused.status, 403)
  assert.match(refused.text, /Set up a second factor/)
  const api = `${SESSION_API_PATH}/workspaces/${workspaceId}/members`
  assert.equal((await member.client.call('GET', api)).status, 403)
  assert.equal(await demand(member, false), 403)
  await setUpAuthenticatorApp(member.client)
  assert.equal((await member.client.get(path)).status, 200)
  assert.equal(await demand(member, false), 403)
  await member.client.post('/account/authenticator/remove')
  assert.equal((await member.client.get(path)).status, 403)
  assert.equal(await demand(owner, false), 204)
  assert.equal((await member.client.get(path)).status, 200)
})

it('returns 403 on every page of a workspace that requires a second factor', async test => {
  const service = await startTestService(test)
  const { owner, workspaceId } = await createTestWorkspace(service)
  await service.database.query
    .updateTable('workspaces')
    .set({ requires_second_factor: true })
    .where('id', '=', workspaceId)
    .execute()
  const paths = ['ad-accounts', 'connections', 'tokens', 'approvals', 'policy', 'audit']
  for (const path of paths) {
    const page = await owner.client.get(`/workspaces/${workspaceId}/${path}`)
    assert.equal(page.status, 403, path)
    assert.match(page.text, /requires a second factor/, path)
  }
})
