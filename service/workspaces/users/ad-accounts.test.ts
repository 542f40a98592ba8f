import assert from 'node:assert/strict'
import { it } from 'node:test'
import { SESSION_API_PATH } from '@signalbox/contract/session/session-operation.ts'
import { startTestService } from '../../../testing/fixtures/service.ts'
import { createTestUser, createTestWorkspace } from '../../../testing/fixtures/users.ts'
import { listOwnedAdAccounts } from './ad-account-store.ts'
import { setUserStatus } from './user-store.ts'
import { setWorkspaceStatus } from './workspace-store.ts'

const ENTRY = {
  name: 'Shop EU',
  platform_account_id: 'act_1234567890',
  currency: 'eur',
  time_zone: 'Europe/Berlin',
}

it('adds, disables and enables an ad account', async test => {
  const service = await startTestService(test)
  const { client } = await createTestUser(service)
  const workspaces = `${SESSION_API_PATH}/workspaces`
  const { body: workspace } = await client.call('POST', workspaces, { body: { name: 'Shop' } })
  const path = `${workspaces}/${workspace.id}/ad-accounts`
  const { body: added } = await client.call('POST', path, { body: ENTRY })
  const { platform_account_id: number, currency, time_zone: zone } = added
  assert.deepEqual([number, currency, zone], ['1234567890', 'EUR', 'Europe/Berlin'])
  for (const status of ['disabled', 'active']) {
    const body = { status }
    assert.equal((await client.call('PATCH', `${path}/${added.id}`, { body })).status, 204)
    assert.equal((await client.call('GET', path)).body.ad_accounts[0].status, status)
  }
})

it('returns 422 naming every invalid field', async test => {
  const service = await startTestService(test)
  const { owner, workspaceId } = await createTestWorkspace(service)
  const wrong = { name: '', platform_account_id: '12x', currency: 'EURO', time_zone: 'Mars' }
  const path = `${SESSION_API_PATH}/workspaces/${workspaceId}/ad-accounts`
  for (const body of [wrong, {}, null, [], 'text', { ...wrong, name: 1, currency: {} }]) {
    const reply = await owner.client.call('POST', path, { body })
    assert.equal(reply.status, 422)
    assert.deepEqual(Object.keys(reply.body.errors).toSorted(), Object.keys(wrong).toSorted())
  }
})

it('returns 422 for a duplicate ad account, also concurrently, but allows it in another workspace', async test => {
  const service = await startTestService(test)
  const [one, other] = [await createTestWorkspace(service), await createTestWorkspace(service)]
  const add = ({ owner, workspaceId }: typeof one) =>
    owner.client.call('POST', `${SESSION_API_PATH}/workspaces/${workspaceId}/ad-accounts`, {
      body: ENTRY,
    })
  const statuses = (await Promise.all([add(one), add(one), add(one)])).map(({ status }) => status)
  assert.deepEqual(statuses.toSorted(), [201, 422, 422])
  assert.equal((await add(other)).status, 201)
})

it('returns 404 for an ad account of another workspace and does not change it', async test => {
  const service = await startTestService(test)
  const [one, other] = [await createTestWorkspace(service), await createTestWorkspace(service)]
  const path = `${SESSION_API_PATH}/workspaces/${one.workspaceId}/ad-accounts/${other.adAccountId}`
  const reply = await one.owner.client.call('PATCH', path, { body: { status: 'disabled' } })
  assert.equal(reply.status, 404)
  const [account] = await listOwnedAdAccounts(service.database, other.owner.userId)
  assert.equal(account?.status, 'active')
})

it('lists only active ad accounts of active workspaces that the person owns', async test => {
  const service = await startTestService(test)
  const { owner, workspaceId, adAccountId } = await createTestWorkspace(service)
  const choices = async () =>
    (await listOwnedAdAccounts(service.database, owner.userId)).map(choice => choice.adAccountId)
  assert.deepEqual(await choices(), [adAccountId])
  const path = `${SESSION_API_PATH}/workspaces/${workspaceId}/ad-accounts/${adAccountId}`
  await owner.client.call('PATCH', path, { body: { status: 'disabled' } })
  assert.deepEqual(await choices(), [])
  await owner.client.call('PATCH', path, { body: { status: 'active' } })
  await setWorkspaceStatus(service.database, workspaceId, 'disabled')
  assert.deepEqual(await choices(), [])
  await setWorkspaceStatus(service.database, workspaceId, 'active')
  await setUserStatus(service.database, owner.email, 'disabled')
  assert.deepEqual(await choices(), [])
})
