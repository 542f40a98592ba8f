import assert from 'node:assert/strict'
import { it } from 'node:test'
import { AUDIT_MASTER_KEY, auditUnderTest } from '../../testing/audit-under-test.ts'
import { resignHeads } from './sign-heads.ts'
import { deriveAuditKeys } from './signed-head.ts'
import { verifyChain } from './verify-chain.ts'

it('brings heads under the current key, and leaves those that nobody signed as they are', async test => {
  const { database, write, newWorkspace, workspaceId, clock } = await auditUnderTest(test)
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
    const order = { workspaceId: workspace, now: clock.now() }
    return (await verifyChain(database, currentAlone, order)).is_intact
  }
  assert.equal(await isIntact(workspaceId), false)
  assert.deepEqual(await resignHeads(database, both), { resigned: 1, unsigned: [forged] })
  assert.deepEqual(await resignHeads(database, both), { resigned: 0, unsigned: [forged] })
  assert.equal(await isIntact(workspaceId), true)
  assert.equal(await isIntact(forged), false)
})
