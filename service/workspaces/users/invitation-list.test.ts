import assert from 'node:assert/strict'
import { it } from 'node:test'
import { SESSION_API_PATH } from '@signalbox/contract/session/session-operation.ts'
import { startTestService } from '../../../testing/fixtures/service.ts'
import { createTestUser, createTestWorkspace } from '../../../testing/fixtures/users.ts'

const INVITATIONS = 230

it('reaches every pending invitation of a workspace, and withdraws the oldest', async test => {
  const service = await startTestService(test)
  const { owner, workspaceId } = await createTestWorkspace(service)
  await service.database.pool.query(
    `insert into invitations (id, workspace_id, email, role, invited_by, status, created_at,
       expires_at)
     select gen_random_uuid(), $1, 'guest' || number || '@people.example', 'member', $2, 'pending',
       $3::timestamptz + number * interval '1 second', $3::timestamptz + interval '7 days'
     from generate_series(1, $4::integer) number`,
    [workspaceId, owner.userId, service.clock.now(), INVITATIONS],
  )
  const path = `${SESSION_API_PATH}/workspaces/${workspaceId}/invitations`
  const seen: { id: string; email: string }[] = []
  for (let page = 1; ; page += 1) {
    const { body } = await owner.client.call('GET', `${path}?page=${page}`)
    seen.push(...body.invitations)
    if (!body.has_more) break
  }
  assert.equal(new Set(seen.map(({ id }) => id)).size, INVITATIONS)
  const oldest = seen.at(-1)
  assert.equal(oldest?.email, 'guest1@people.example')
  assert.equal((await owner.client.call('DELETE', `${path}/${oldest?.id}`)).status, 204)
})

it('reaches every invitation to an address', async test => {
  const service = await startTestService(test)
  const guest = await createTestUser(service)
  const { owner } = await createTestWorkspace(service)
  await service.database.pool.query(
    `with shops as (
       insert into workspaces (name, created_at)
       select 'Shop ' || number, $2 from generate_series(1, 120) number returning id
     ), owners as (
       insert into members (workspace_id, user_id, role, created_at)
       select id, $3, 'owner', $2 from shops
     )
     insert into invitations (id, workspace_id, email, role, invited_by, status, created_at,
       expires_at)
     select gen_random_uuid(), id, $1, 'member', $3, 'pending', $2,
       $2::timestamptz + interval '7 days'
     from shops`,
    [guest.email, service.clock.now(), owner.userId],
  )
  const ids = new Set<string>()
  for (let page = 1; ; page += 1) {
    const { body } = await guest.client.call('GET', `${SESSION_API_PATH}/invitations?page=${page}`)
    for (const { id } of body.invitations) ids.add(id)
    if (!body.has_more) break
  }
  assert.equal(ids.size, 120)
  const { body } = await guest.client.call('GET', `${SESSION_API_PATH}/invitations?page=3`)
  assert.deepEqual([body.invitations.length, body.has_more], [20, false])
})
