import assert from 'node:assert/strict'
import { it, type TestContext } from 'node:test'
import { SESSION_API_PATH } from '@signalbox/contract/session/session-operation.ts'
import { createOperatorContext, readAuditEntries } from '../../../testing/fixtures/audit.ts'
import { startTestService, type TestService } from '../../../testing/fixtures/service.ts'
import {
  addMember,
  createSignedInClient,
  createTestUser,
  createTestWorkspace,
} from '../../../testing/fixtures/users.ts'
import { HOUR_SECONDS } from '../../runtime/util/time.ts'
import { changeUserStatus } from '../../workspaces/users/user-status.ts'

/** Three owners for 30 days, one of whom saved a policy that permits more. */
async function stage(test: TestContext) {
  const service = await startTestService(test)
  const { owner, workspaceId } = await createTestWorkspace(service)
  const path = `${SESSION_API_PATH}/workspaces/${workspaceId}`
  const author = await createTestUser(service)
  const third = await createTestUser(service)
  for (const { userId } of [author, third]) {
    await addMember(service, { workspaceId, userId, role: 'owner' })
  }
  const readPolicy = async () => {
    const client = await createSignedInClient(service, owner.userId)
    return (await client.call('GET', `${path}/policy`)).body
  }
  const { policy } = await readPolicy()
  const { changed_at: _, ...submission } = policy
  const body = { ...submission, execution_mode: 'auto_with_limits' }
  const saved = await author.client.call('PUT', `${path}/policy`, { body })
  assert.equal(saved.status, 200, JSON.stringify(saved.body))
  assert.equal((await readPolicy()).pending.execution_mode, 'auto_with_limits')
  return { service, owner, author, third, workspaceId, path, readPolicy }
}

type Scene = Awaited<ReturnType<typeof stage>>

const pathOf = ({ path, author }: Scene) => `${path}/members/${author.userId}`

/** Each way in which an owner stops being one, and who did it. */
const LOSSES: Record<string, (scene: Scene) => Promise<unknown>> = {
  'is removed': scene => scene.owner.client.call('DELETE', pathOf(scene)),
  leaves: scene => scene.author.client.call('DELETE', pathOf(scene)),
  'becomes an administrator': scene =>
    scene.owner.client.call('PATCH', pathOf(scene), { body: { role: 'admin' } }),
  'is disabled by the operator': ({ service, author }) =>
    changeUserStatus(createOperatorContext(service), author.email, 'disabled'),
}

const isCanceled = ({ type }: { type: string }) => type === 'policy.loosening_canceled'

async function readNotices({ database }: TestService, workspaceId: number) {
  const { rows } = await database.pool.query(
    'select type, text from notifications where workspace_id = $1 order by id',
    [workspaceId],
  )
  return rows as { type: string; text: string }[]
}

for (const [loss, apply] of Object.entries(LOSSES)) {
  it(`cancels the waiting policy of an owner who ${loss}, and tells the others`, async test => {
    const scene = await stage(test)
    const { service, workspaceId, readPolicy } = scene
    await apply(scene)
    service.clock.advance(25 * HOUR_SECONDS)
    const { policy, pending } = await readPolicy()
    assert.deepEqual([policy.execution_mode, pending], ['suggest_only', null])
    const [entry] = await readAuditEntries(service.database, workspaceId, 'policy.change_canceled')
    const saved_by = scene.author.userId
    assert.deepEqual(entry?.details, { version: 2, saved_by, reason: 'owner_lost' })
    const notices = await readNotices(service, workspaceId)
    assert.deepEqual(notices.filter(isCanceled).length, 1, JSON.stringify(notices))
    assert.match(notices.find(isCanceled)?.text ?? '', /no longer an owner/)
    assert.ok(!notices.some(({ type }) => type === 'policy.loosening_pending'))
  })
}

it('does not revive it for an owner who is demoted and made an owner again', async test => {
  const scene = await stage(test)
  const { service, owner, readPolicy } = scene
  for (const role of ['member', 'owner']) {
    const changed = await owner.client.call('PATCH', pathOf(scene), { body: { role } })
    assert.equal(changed.status, 204)
  }
  service.clock.advance(25 * HOUR_SECONDS)
  assert.equal((await readPolicy()).policy.execution_mode, 'suggest_only')
})

it('keeps it when another owner confirmed it before, or when another owner leaves', async test => {
  const scene = await stage(test)
  const { service, owner, third, workspaceId, path, readPolicy } = scene
  await third.client.call('DELETE', `${path}/members/${third.userId}`)
  const { pending } = await readPolicy()
  assert.equal(pending.execution_mode, 'auto_with_limits')
  const body = { version: pending.version }
  const confirmed = await owner.client.call('POST', `${path}/policy/pending/confirmation`, { body })
  assert.equal(confirmed.status, 200, JSON.stringify(confirmed.body))
  await LOSSES['is removed']?.(scene)
  assert.equal((await readPolicy()).policy.execution_mode, 'auto_with_limits')
  const canceled = await readAuditEntries(service.database, workspaceId, 'policy.change_canceled')
  assert.deepEqual(canceled, [])
})

it('keeps one that became valid before its author left', async test => {
  const scene = await stage(test)
  scene.service.clock.advance(24 * HOUR_SECONDS)
  const owner = await createSignedInClient(scene.service, scene.owner.userId)
  assert.equal((await owner.call('DELETE', pathOf(scene))).status, 204)
  scene.service.clock.advance(HOUR_SECONDS)
  assert.equal((await scene.readPolicy()).policy.execution_mode, 'auto_with_limits')
})
