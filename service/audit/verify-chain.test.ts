import assert from 'node:assert/strict'
import { it } from 'node:test'
import { createAuditFixture, insertAuditLog, sampleEntry } from '../../testing/fixtures/audit.ts'
import { readEntries, withSnapshot } from './audit-read-store.ts'
import { scanChain } from './verify-chain.ts'

it('scans a log of several pages, and finds a gap after the first page', async test => {
  const fixture = await createAuditFixture(test)
  const { database, keys, workspaceId, asOwner } = fixture
  await insertAuditLog(fixture, 1_200)
  const intact = await scanChain(database, keys, { workspaceId })
  assert.deepEqual([intact.entries, intact.last.sequence, intact.finding], [1_200, 1_200, null])
  // The first entry of a page, and the last one.
  for (const sequence of [1_001, 1_000]) {
    await asOwner(client =>
      client.query('delete from audit_entries where sequence = $1', [sequence]),
    )
    const { finding } = await scanChain(database, keys, { workspaceId })
    assert.equal(finding?.sequence, sequence)
  }
})

it('scans a log of exactly one page', async test => {
  const fixture = await createAuditFixture(test)
  await insertAuditLog(fixture, 500)
  assert.equal((await fixture.verify()).entries, 500)
  assert.ok((await fixture.verify()).is_intact)
})

it('is not affected by entries that are appended during the scan', async test => {
  const { database, trail, workspaceId, write, verify } = await createAuditFixture(test)
  await write(2)
  let isDone = false
  const appending = (async () => {
    for (let index = 0; !isDone; index += 1) {
      await trail.append(database, sampleEntry(workspaceId, index))
    }
  })()
  for (let scans = 0; scans < 10; scans += 1) {
    const { is_intact, finding } = await verify()
    assert.ok(is_intact, finding)
  }
  isDone = true
  await appending
})

it('reads a consistent snapshot', async test => {
  const { database, workspaceId, write } = await createAuditFixture(test)
  await write(1)
  await withSnapshot(database, async snapshot => {
    const read = () => readEntries(snapshot, { workspaceId, limit: 10 })
    assert.equal((await read()).length, 1)
    await write(1)
    assert.equal((await read()).length, 1)
  })
})

it('reports empty and unchanged logs as intact', async test => {
  const { verify, write } = await createAuditFixture(test)
  assert.deepEqual(await verify(), {
    is_intact: true,
    entries: 0,
    broken_at: null,
    finding: 'The log is empty.',
    verified_at: '2026-11-21T12:00:00.000Z',
  })
  await write(1)
  assert.equal((await verify()).finding, 'The only entry is unchanged.')
  await write(1)
  assert.equal((await verify()).finding, 'All 2 entries are unchanged.')
})
