import assert from 'node:assert/strict'
import { it } from 'node:test'
import { SESSION_API_PATH } from '@signalbox/contract/session/session-operation.ts'
import { startTestService } from '../../../testing/fixtures/service.ts'
import { createTestWorkspace } from '../../../testing/fixtures/users.ts'
import { listAdAccounts } from './ad-account-store.ts'
import { addAdAccount } from './ad-accounts.ts'
import type { UsersContext } from './users-context.ts'

const ENTRY = { name: 'Shop EU', currency: 'EUR', time_zone: 'Europe/Berlin' }

it('creates simulated campaigns together with an ad account', async test => {
  const service = await startTestService(test)
  const { owner, workspaceId } = await createTestWorkspace(service)
  const path = `${SESSION_API_PATH}/workspaces/${workspaceId}/ad-accounts`
  const body = { ...ENTRY, platform_account_id: 'act_1234567890' }
  const { status, body: created } = await owner.client.call('POST', path, { body })
  assert.equal(status, 201)
  const entities = await service.database.query
    .selectFrom('ad_entities')
    .select(['type', 'id', 'name'])
    .where('ad_account_id', '=', created.id)
    .orderBy('type')
    .execute()
  assert.equal(entities.length, 17)
  const account = entities.find(({ type }) => type === 'ad_account')
  assert.deepEqual(account, { type: 'ad_account', id: '1234567890', name: 'Shop EU' })
})

it('rolls back the ad account when its campaigns cannot be created', async test => {
  const service = await startTestService(test)
  const { owner, workspaceId, adAccountId } = await createTestWorkspace(service)
  const session = { sessionId: 1, authenticatedAt: service.clock.now(), secondFactorAt: null }
  const state = { isEmailVerified: true, mustChangePassword: false, hasSecondFactor: false }
  const user = { ...owner, ...session, ...state }
  const context = {
    database: service.database,
    now: service.clock.now,
    onAdAccountAdded: async () => {
      throw new Error('no campaigns')
    },
  } as unknown as UsersContext
  const body = { ...ENTRY, platform_account_id: '1234567890' }
  await assert.rejects(addAdAccount(context, user, { workspaceId, body }), /no campaigns/)
  const accounts = await listAdAccounts(service.database, workspaceId)
  assert.deepEqual(
    accounts.map(({ id }) => id),
    [adAccountId],
  )
})
