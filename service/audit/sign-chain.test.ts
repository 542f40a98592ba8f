import assert from 'node:assert/strict'
import { it } from 'node:test'
import { AUDIT_MASTER_KEY, auditUnderTest } from '../../testing/audit-under-test.ts'
import { createAuditTrail } from './audit-store.ts'
import { signChain } from './sign-heads.ts'
import { deriveAuditKeys } from './signed-head.ts'

const KEYS = deriveAuditKeys({ current: AUDIT_MASTER_KEY, previous: [] })

it('a log that only lacks a signature is signed, and says so itself', async test => {
  const { database, workspaceId, write, verify, clock } = await auditUnderTest(test)
  await write(2)
  const order = { workspaceId, keys: KEYS, audit: createAuditTrail(KEYS), at: clock.now() }
  assert.equal((await signChain(database, order)).outcome, 'was_signed')
  await database.pool.query(`update audit_heads set signature = ''`)
  await write(2)
  assert.equal((await verify()).is_intact, false)
  assert.equal((await signChain(database, order)).outcome, 'signed')
  assert.deepEqual(await verify().then(({ is_intact, entries }) => [is_intact, entries]), [true, 5])
  const { rows } = await database.pool.query('select body from audit_entries where sequence = 5')
  const { action, actor, details } = JSON.parse(rows[0].body)
  assert.deepEqual([action, actor.type, details], ['audit.signed', 'operator', { sequence: 4 }])
})

it('a log whose head is gone is signed as well', async test => {
  const { database, workspaceId, write, verify, clock } = await auditUnderTest(test)
  await write(3)
  await database.pool.query('delete from audit_heads')
  const order = { workspaceId, keys: KEYS, audit: createAuditTrail(KEYS), at: clock.now() }
  assert.equal((await signChain(database, order)).outcome, 'signed')
  assert.equal((await verify()).is_intact, true)
})

it('a log with a changed entry is not made good by signing it', async test => {
  const { database, workspaceId, write, verify, asOwner, clock } = await auditUnderTest(test)
  await write(3)
  await asOwner(async client => {
    await client.query(
      `update audit_entries set body = replace(body, ':2', ':3') where sequence = 2`,
    )
    await client.query(`update audit_heads set signature = ''`)
  })
  const order = { workspaceId, keys: KEYS, audit: createAuditTrail(KEYS), at: clock.now() }
  assert.equal((await signChain(database, order)).outcome, 'refused')
  assert.equal((await verify()).broken_at, 2)
})
