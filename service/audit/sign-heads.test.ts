import assert from 'node:assert/strict'
import { it } from 'node:test'
import { AUDIT_MASTER_KEY, createAuditFixture } from '../../testing/fixtures/audit.ts'
import { createLogger } from '../runtime/http/logger.ts'
import { createAuditTrail } from './audit-store.ts'
import { deriveAuditKeys } from './signed-head.ts'
import { verifyChain } from './verify-chain.ts'
import { resignHeads, signChain } from './verify-chains.ts'

const KEYS = deriveAuditKeys({ current: AUDIT_MASTER_KEY, previous: [] })

it('signs a log that only lacks a signature, and records it in the log', async test => {
  const { database, workspaceId, write, verify, clock } = await createAuditFixture(test)
  await write(2)
  const input = {
    workspaceId,
    keys: KEYS,
    audit: createAuditTrail(KEYS, createLogger('silent')),
    at: clock.now(),
  }
  assert.equal((await signChain(database, input)).outcome, 'already_signed')
  await database.pool.query(`update audit_heads set signature = ''`)
  await write(2)
  assert.equal((await verify()).is_intact, false)
  assert.equal((await signChain(database, input)).outcome, 'signed')
  assert.deepEqual(await verify().then(({ is_intact, entries }) => [is_intact, entries]), [true, 5])
  const { rows } = await database.pool.query('select body from audit_entries where sequence = 5')
  const { action, actor, details } = JSON.parse(rows[0].body)
  assert.deepEqual([action, actor.type, details], ['audit.signed', 'operator', { sequence: 4 }])
})

it('signs a log whose head is missing', async test => {
  const { database, workspaceId, write, verify, clock } = await createAuditFixture(test)
  await write(3)
  await database.pool.query('delete from audit_heads')
  const input = {
    workspaceId,
    keys: KEYS,
    audit: createAuditTrail(KEYS, createLogger('silent')),
    at: clock.now(),
  }
  assert.equal((await signChain(database, input)).outcome, 'signed')
  assert.equal((await verify()).is_intact, true)
})

it('refuses to sign a log with a changed entry', async test => {
  const { database, workspaceId, write, verify, asOwner, clock } = await createAuditFixture(test)
  await write(3)
  await asOwner(async client => {
    await client.query(
      `update audit_entries set body = replace(body, ':2', ':3') where sequence = 2`,
    )
    await client.query(`update audit_heads set signature = ''`)
  })
  const input = {
    workspaceId,
    keys: KEYS,
    audit: createAuditTrail(KEYS, createLogger('silent')),
    at: clock.now(),
  }
  assert.equal((await signChain(database, input)).outcome, 'refused')
  assert.equal((await verify()).broken_at, 2)
})

it('signs heads with the current key and leaves unsigned heads unchanged', async test => {
  const { database, write, newWorkspace, workspaceId, clock } = await createAuditFixture(test)
  const forged = await newWorkspace()
  await write(2)
  await write(2, forged)
  await database.pool.query('update audit_heads set signature = $2 where workspace_id = $1', [
    forged,
    Buffer.alloc(32),
  ])
  const current = Buffer.alloc(32, 9)
  const both = deriveAuditKeys({ current, previous: [AUDIT_MASTER_KEY] })
  const currentAlone = deriveAuditKeys({ current, previous: [] })
  const isIntact = async (workspace: number) => {
    const input = { workspaceId: workspace, now: clock.now() }
    return (await verifyChain(database, currentAlone, input)).is_intact
  }
  assert.equal(await isIntact(workspaceId), false)
  assert.deepEqual(await resignHeads(database, both), { resigned: 1, unsigned: [forged] })
  assert.deepEqual(await resignHeads(database, both), { resigned: 0, unsigned: [forged] })
  assert.equal(await isIntact(workspaceId), true)
  assert.equal(await isIntact(forged), false)
})
