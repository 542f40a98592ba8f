import assert from 'node:assert/strict'
import { it } from 'node:test'
import { createTestDatabase } from '../../../testing/fixtures/database.ts'
import { localSettings, setLocally } from './sql-fragments.ts'

it('applies until the transaction ends', async test => {
  const { database } = await createTestDatabase(test)
  const client = await database.pool.connect()
  const readTimeout = async () => (await client.query('show lock_timeout')).rows[0].lock_timeout
  await client.query(`begin; ${localSettings({ lock_timeout: 500, enable_sort: 'off' })}`)
  assert.equal(await readTimeout(), '500ms')
  await client.query('commit')
  assert.equal(await readTimeout(), '4s', 'that of every connection')
  client.release()
})

it('cancels a statement that waits longer than lock_timeout', async test => {
  const { database } = await createTestDatabase(test)
  const holder = await database.pool.connect()
  await holder.query('begin; lock table events in access exclusive mode')
  const waiting = database.query.transaction().execute(async query => {
    await setLocally({ query }, { lock_timeout: 10 })
    await query.selectFrom('events').select('event_id').limit(1).execute()
  })
  await assert.rejects(waiting, { code: '55P03' })
  await holder.query('rollback')
  holder.release()
})
