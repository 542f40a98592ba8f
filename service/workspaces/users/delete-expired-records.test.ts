import assert from 'node:assert/strict'
import { it } from 'node:test'
import { SESSION_API_PATH } from '@signalbox/contract/session/session-operation.ts'
import { PageClient } from '../../../testing/fixtures/page-client.ts'
import { startTestService } from '../../../testing/fixtures/service.ts'
import { createTestWorkspace } from '../../../testing/fixtures/users.ts'
import { DAY_MILLISECONDS } from '../../runtime/util/time.ts'
import { deleteExpiredUserRecords } from './session-store.ts'

it('deletes expired sessions, links and invitations and keeps live ones', async test => {
  const service = await startTestService(test)
  const { owner, workspaceId } = await createTestWorkspace(service)
  const body = { email: 'guest@people.example', role: 'member' }
  await owner.client.call('POST', `${SESSION_API_PATH}/workspaces/${workspaceId}/invitations`, {
    body,
  })
  await new PageClient(service.url).post('/forgot', { email: owner.email })
  const counts = async () => {
    const { rows } = await service.database.pool.query(
      `select (select count(*)::int from people.sessions) as sessions,
         (select count(*)::int from people.verifications) as links,
         (select count(*)::int from invitations) as invitations`,
    )
    return rows[0]
  }
  await deleteExpiredUserRecords(service.database, service.clock.now())
  assert.deepEqual(await counts(), { sessions: 1, links: 1, invitations: 1 })
  const later = new Date(service.clock.now().getTime() + 38 * DAY_MILLISECONDS)
  await deleteExpiredUserRecords(service.database, later)
  assert.deepEqual(await counts(), { sessions: 0, links: 0, invitations: 0 })
})
