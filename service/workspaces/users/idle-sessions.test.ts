import assert from 'node:assert/strict'
import { it } from 'node:test'
import { startTestService } from '../../../testing/fixtures/service.ts'
import { createTestUser } from '../../../testing/fixtures/users.ts'
import { DAY_SECONDS } from '../../runtime/util/time.ts'
import { deleteExpiredUserRecords } from './session-store.ts'
import { SESSION_IDLE_DAYS } from './session-token.ts'

it('ends a session that is not used for four days', async test => {
  const service = await startTestService(test)
  const { client } = await createTestUser(service)
  const isSignedIn = async () => (await client.get('/account')).path === '/account'
  for (const _ of [1, 2]) {
    service.clock.advance(SESSION_IDLE_DAYS * DAY_SECONDS - 1)
    assert.equal(await isSignedIn(), true)
  }
  service.clock.advance(SESSION_IDLE_DAYS * DAY_SECONDS)
  assert.equal(await isSignedIn(), false)
  await deleteExpiredUserRecords(service.database, service.clock.now())
  const { rows } = await service.database.pool.query('select 1 from people.sessions')
  assert.deepEqual(rows, [])
})

it('ends a session after 14 days, however much it is used', async test => {
  const service = await startTestService(test)
  const { client } = await createTestUser(service)
  for (let day = 1; day < 14; day += 1) {
    service.clock.advance(DAY_SECONDS)
    assert.equal((await client.get('/account')).path, '/account')
  }
  service.clock.advance(DAY_SECONDS)
  assert.notEqual((await client.get('/account')).path, '/account')
})

it('records the use of a session at most once in five minutes', async test => {
  const service = await startTestService(test)
  const { client } = await createTestUser(service)
  const usedAt = async () => {
    await client.get('/account')
    const { rows } = await service.database.pool.query('select updated_at from people.sessions')
    return rows[0].updated_at.toISOString()
  }
  const first = await usedAt()
  service.clock.advance(300)
  assert.equal(await usedAt(), first)
  service.clock.advance(1)
  assert.notEqual(await usedAt(), first)
})
