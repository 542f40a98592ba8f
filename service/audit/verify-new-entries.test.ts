import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { it, type TestContext } from 'node:test'
import { createAuditFixture } from '../../testing/fixtures/audit.ts'
import { findHead, type StoredHead } from './audit-read-store.ts'
import { readHeadCheckpoints } from './signed-head.ts'
import { verifyNewEntries } from './verify-chains.ts'

/** An audit log with a data folder for its checkpoints, and the verification of its new end. */
async function startVerifying(test: TestContext) {
  const fixture = await createAuditFixture(test)
  const { database, keys, workspaceId } = fixture
  const dataDirectory = mkdtempSync(join(tmpdir(), 'signalbox-audit-'))
  test.after(() => rmSync(dataDirectory, { recursive: true, force: true }))
  const run = (changes: { entriesMax?: number; excluded?: ReadonlySet<number> } = {}) =>
    verifyNewEntries({
      database,
      keys,
      dataDirectory,
      excluded: new Set(),
      onCheckpointError: error => assert.fail(String(error)),
      signal: new AbortController().signal,
      ...changes,
    })
  const checkpoint = (id = workspaceId) => readHeadCheckpoints(dataDirectory).get(id)?.sequence
  const asOwner = (text: string, values: unknown[]) =>
    fixture.asOwner(client => client.query(text, values))
  const cutTo = async ({ sequence, hash, signature }: StoredHead) => {
    await asOwner('delete from audit_entries where sequence > $1', [sequence])
    await asOwner('update audit_heads set sequence = $1, hash = $2, signature = $3', [
      ...[sequence, hash, signature],
    ])
  }
  const head = async () => (await findHead(database, workspaceId)) as StoredHead
  return { ...fixture, run, checkpoint, asOwner, cutTo, head }
}

it('verifies what was appended and reads nothing while nothing is', async test => {
  const { write, run, checkpoint, asOwner } = await startVerifying(test)
  await write(3)
  assert.deepEqual(await run(), [])
  assert.equal(checkpoint(), 3)
  await write(700)
  assert.deepEqual(await run(), [])
  assert.equal(checkpoint(), 703)
  // An older entry is not read again: the daily verification finds it.
  await asOwner('update audit_entries set hash = $1 where sequence = 2', [Buffer.alloc(32)])
  assert.deepEqual(await run(), [])
  await write(1)
  assert.deepEqual(await run(), [])
  assert.equal(checkpoint(), 704)
})

it('finds a changed or a missing entry among the new ones', async test => {
  const { write, run, checkpoint, asOwner, workspaceId } = await startVerifying(test)
  await write(3)
  await run()
  await write(3)
  await asOwner('delete from audit_entries where sequence = $1', [4])
  assert.deepEqual(await run(), [workspaceId])
  assert.equal(checkpoint(), 3)
  assert.deepEqual(await run({ excluded: new Set([workspaceId]) }), [])
})

it('finds an end that was cut off, rewritten, or lost its head', async test => {
  const { write, run, asOwner, cutTo, head, workspaceId } = await startVerifying(test)
  await write(2)
  const older = await head()
  await write(2)
  const newest = await head()
  assert.deepEqual(await run(), [])
  await cutTo(older)
  assert.deepEqual(await run(), [workspaceId])
  await write(2)
  assert.deepEqual(await run(), [], 'the same entries again')
  await cutTo(older)
  await asOwner('update audit_heads set signature = $1', [newest.signature])
  assert.deepEqual(await run(), [workspaceId])
  await asOwner('delete from audit_heads where workspace_id = $1', [workspaceId])
  assert.deepEqual(await run(), [workspaceId])
})

it('bounds the entries of a run, and leaves longer logs to the daily verification', async test => {
  const fixture = await startVerifying(test)
  const { write, run, checkpoint, newWorkspace, workspaceId } = fixture
  const other = await newWorkspace()
  await write(4)
  await write(4, other)
  assert.deepEqual(await run({ entriesMax: 5 }), [])
  assert.deepEqual([checkpoint(), checkpoint(other)], [4, undefined])
  assert.deepEqual(await run({ entriesMax: 3 }), [])
  assert.equal(checkpoint(other), undefined)
  assert.deepEqual(await run({ entriesMax: 5 }), [])
  assert.deepEqual([checkpoint(workspaceId), checkpoint(other)], [4, 4])
})

it('asks for the whole verification of ten logs at most', async test => {
  const { write, run, newWorkspace, asOwner } = await startVerifying(test)
  for (let index = 0; index < 12; index += 1) await write(1, await newWorkspace())
  await asOwner('update audit_heads set signature = $1', [Buffer.alloc(32)])
  const suspects = await run()
  assert.equal(suspects.length, 10)
  assert.equal((await run({ excluded: new Set(suspects) })).length, 2)
})
