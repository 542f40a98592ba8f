import assert from 'node:assert/strict'
import { it } from 'node:test'
import { createAuditFixture, forgeEntry, sampleEntry } from '../../testing/fixtures/audit.ts'
import { createLogger } from '../runtime/http/logger.ts'
import { GENESIS_LINK } from './audit-entry.ts'
import { findHead, readEntries } from './audit-read-store.ts'
import { createAuditTrail } from './audit-store.ts'
import { deriveAuditKeys } from './signed-head.ts'

it('writes one chain without a gap under twenty concurrent appends', async test => {
  const { database, trail, workspaceId, verify } = await createAuditFixture(test)
  const appended = await Promise.all(
    Array.from({ length: 20 }, (_, index) =>
      trail.append(database, sampleEntry(workspaceId, index)),
    ),
  )
  const sequences = appended.map(({ sequence }) => sequence).toSorted((a, b) => a - b)
  assert.deepEqual(
    sequences,
    Array.from({ length: 20 }, (_, index) => index + 1),
  )
  const { is_intact, entries } = await verify()
  assert.deepEqual({ is_intact, entries }, { is_intact: true, entries: 20 })
})

it('leaves no gap and no head after a rollback', async test => {
  const { database, trail, workspaceId, write, verify } = await createAuditFixture(test)
  const abandoned = () =>
    database.query.transaction().execute(async query => {
      await trail.append({ query }, sampleEntry(workspaceId, 1))
      await trail.append({ query }, sampleEntry(workspaceId, 2))
      throw new Error('abandoned')
    })
  await assert.rejects(abandoned, /abandoned/)
  assert.equal(await findHead(database, workspaceId), null)
  await write(2)
  await assert.rejects(abandoned, /abandoned/)
  await write(1)
  const { is_intact, entries } = await verify()
  assert.deepEqual({ is_intact, entries }, { is_intact: true, entries: 3 })
})

it('keeps a separate chain for each workspace', async test => {
  const { write, newWorkspace, verify, workspaceId } = await createAuditFixture(test)
  const other = await newWorkspace()
  for (const workspace of [workspaceId, other, workspaceId]) await write(1, workspace)
  assert.equal((await verify()).entries, 2)
  assert.equal((await verify(other)).entries, 1)
  assert.ok((await verify(other)).is_intact)
})

it('refuses to update, delete and truncate entries and receipts', async test => {
  const { database, write } = await createAuditFixture(test)
  await write(1)
  for (const table of ['audit_entries', 'agent_receipts']) {
    for (const statement of [
      `update ${table} set hash = hash`,
      `delete from ${table}`,
      `truncate ${table}`,
    ]) {
      await assert.rejects(database.pool.query(statement), {
        message: `${table} is append-only`,
        code: '23001',
      })
    }
  }
})

it('appends after a forged head without signing', async test => {
  const { database, trail, workspaceId, write, verify, asOwner } = await createAuditFixture(test)
  await write(2)
  const [first] = await readEntries(database, { workspaceId, limit: 1 })
  await asOwner(async client => {
    await client.query('delete from audit_entries where sequence = 2')
    await client.query('update audit_heads set sequence = 1, hash = $1', [first?.hash])
  })
  await trail.append(database, sampleEntry(workspaceId, 2))
  await trail.append(database, sampleEntry(workspaceId, 3))
  const { is_intact, broken_at, finding } = await verify()
  assert.deepEqual([is_intact, broken_at], [false, 3])
  assert.match(finding, /is not signed by a key of this installation/)
})

it('appends to a head signed with a previous key while that key is configured', async test => {
  const { database, workspaceId, write } = await createAuditFixture(test)
  await write(1)
  const [former, current] = [Buffer.alloc(32, 7), Buffer.alloc(32, 8)]
  const trailOf = (previous: Buffer[]) =>
    createAuditTrail(deriveAuditKeys({ current, previous }), createLogger('silent'))
  assert.equal((await trailOf([former]).append(database, sampleEntry(workspaceId, 2))).sequence, 2)
  assert.equal((await trailOf([]).append(database, sampleEntry(workspaceId, 3))).sequence, 3)
})

it('writes the sequence and the previous hash into the body', () => {
  const first = forgeEntry(1, GENESIS_LINK)
  const second = JSON.parse(forgeEntry(1, first).body)
  assert.equal(second.sequence, 2)
  assert.equal(second.previous_hash, first.hash.toString('hex'))
  assert.equal(JSON.parse(first.body).previous_hash, '0'.repeat(64))
})
