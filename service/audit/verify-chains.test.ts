import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { it, type TestContext } from 'node:test'
import { type AuditFixture, createAuditFixture } from '../../testing/fixtures/audit.ts'
import { findHead, type StoredHead } from './audit-read-store.ts'
import type { AuditHead } from './signed-head.ts'
import { readHeadCheckpoints, saveHeadCheckpoints } from './signed-head.ts'
import { type VerifiedChain, verifyChains } from './verify-chains.ts'

interface VerifyOptions {
  workspaceId?: number
  trustedHead?: AuditHead
  folder?: string
}

/** An audit log with a data folder for its checkpoints. */
async function auditWithCheckpoints(test: TestContext) {
  const fixture = await createAuditFixture(test)
  const dataDirectory = mkdtempSync(join(tmpdir(), 'signalbox-audit-'))
  test.after(() => rmSync(dataDirectory, { recursive: true, force: true }))
  const checkpointErrors: unknown[] = []
  const verifyAll = async ({
    workspaceId,
    trustedHead,
    folder = dataDirectory,
  }: VerifyOptions = {}) => {
    const { database, keys, clock } = fixture
    const onCheckpointError = (error: unknown) => void checkpointErrors.push(error)
    const verifyRecords = async () => null
    const run = { dataDirectory: folder, now: clock.now(), onCheckpointError, verifyRecords }
    const context = { database, keys, ...run }
    const options = { workspaceId: workspaceId ?? null, trustedHead: trustedHead ?? null }
    const chains: VerifiedChain[] = await Array.fromAsync(verifyChains(context, options))
    return chains.map(({ workspaceId: id, broken_at, finding }) => ({ id, broken_at, finding }))
  }
  return { ...fixture, dataDirectory, checkpointErrors, verifyAll }
}

/** Acts as a database owner who kept the head row of an earlier, shorter log. */
async function restoreHead(
  { asOwner, workspaceId }: AuditFixture,
  { sequence, hash, signature }: StoredHead,
): Promise<void> {
  await asOwner(async client => {
    await client.query('delete from audit_entries where workspace_id = $1 and sequence > $2', [
      workspaceId,
      sequence,
    ])
    await client.query(
      'update audit_heads set sequence = $2, hash = $3, signature = $4 where workspace_id = $1',
      [workspaceId, sequence, hash, signature],
    )
  })
}

async function headOf({ database, workspaceId }: AuditFixture): Promise<StoredHead> {
  const head = await findHead(database, workspaceId)
  assert.ok(head)
  return head
}

it('finds a tail truncated to an older signed head by its checkpoint', async test => {
  const fixture = await auditWithCheckpoints(test)
  const { write, verifyAll, workspaceId: id } = fixture
  await write(4)
  const older = await headOf(fixture)
  await write(3)
  assert.equal((await verifyAll())[0]?.broken_at, null)
  await restoreHead(fixture, older)
  const missing = {
    id,
    broken_at: 5,
    finding: 'Entry 5 is missing: the last verified head is at entry 7.',
  }
  assert.deepEqual(await verifyAll(), [missing])
  assert.deepEqual(await verifyAll(), [missing], 'a broken log has no checkpoint')
  // Different entries take the place of the truncated ones.
  for (let entry = 0; entry < 3; entry += 1) await write(1)
  assert.deepEqual(await verifyAll(), [
    { id, broken_at: 7, finding: 'Entry 7 does not match the last verified head.' },
  ])
})

it('finds a tail truncated to an older signed head by a provided head', async test => {
  const fixture = await auditWithCheckpoints(test)
  const { write, verifyAll, workspaceId: id } = fixture
  await write(4)
  const older = await headOf(fixture)
  await write(3)
  const trustedHead = await headOf(fixture)
  assert.equal(
    (await verifyAll({ trustedHead, folder: join(fixture.dataDirectory, 'elsewhere') }))[0]
      ?.broken_at,
    null,
  )
  await restoreHead(fixture, older)
  assert.deepEqual(await verifyAll({ trustedHead }), [
    {
      id,
      broken_at: 5,
      finding: 'Entry 5 is missing: the provided head is at entry 7.',
    },
  ])
})

it('reports the missing log of a deleted workspace that has a checkpoint', async test => {
  const fixture = await auditWithCheckpoints(test)
  const { write, verifyAll, newWorkspace, asOwner, workspaceId } = fixture
  const other = await newWorkspace()
  await write(2)
  await write(2, other)
  await verifyAll()
  await asOwner(async client => {
    await client.query('delete from audit_entries where workspace_id = $1', [other])
    await client.query('delete from audit_heads where workspace_id = $1', [other])
    await client.query('delete from workspaces where id = $1', [other])
  })
  const broken = (await verifyAll()).map(({ id, broken_at }) => [id, broken_at])
  assert.deepEqual(broken, [
    [workspaceId, null],
    [other, 1],
  ])
})

it('verifies one workspace and keeps the checkpoints of the others', async test => {
  const { write, verifyAll, newWorkspace, dataDirectory, workspaceId } =
    await auditWithCheckpoints(test)
  const other = await newWorkspace()
  await write(2)
  await write(1, other)
  await verifyAll()
  await write(2)
  await write(2, other)
  assert.deepEqual(
    (await verifyAll({ workspaceId: other })).map(({ id }) => id),
    [other],
  )
  const sequences = [...readHeadCheckpoints(dataDirectory)].map(([id, head]) => [id, head.sequence])
  assert.deepEqual(sequences, [
    [workspaceId, 2],
    [other, 3],
  ])
})

it('stores only sequences and hashes, readable by the owner of the file alone', async test => {
  const fixture = await auditWithCheckpoints(test)
  await fixture.write(2)
  await fixture.verifyAll()
  const path = join(fixture.dataDirectory, 'audit-heads.json')
  assert.equal(statSync(path).mode & 0o777, 0o600)
  assert.deepEqual(readdirSync(fixture.dataDirectory), ['audit-heads.json'])
  const { hash } = await headOf(fixture)
  assert.deepEqual(JSON.parse(readFileSync(path, 'utf8')), {
    [fixture.workspaceId]: { sequence: 2, hash: hash.toString('hex') },
  })
})

it('keeps the later of two heads of a workspace', async test => {
  const { dataDirectory } = await auditWithCheckpoints(test)
  const head = (sequence: number) => ({ sequence, hash: Buffer.alloc(32, sequence) })
  saveHeadCheckpoints(dataDirectory, new Map([[1, head(5)]]))
  saveHeadCheckpoints(
    dataDirectory,
    new Map([
      [1, head(4)],
      [2, head(1)],
    ]),
  )
  const sequences = [...readHeadCheckpoints(dataDirectory)].map(([id, { sequence }]) => [
    id,
    sequence,
  ])
  assert.deepEqual(sequences, [
    [1, 5],
    [2, 1],
  ])
})

it('rejects an invalid checkpoint file and reports a folder that is not writable', async test => {
  const { write, verifyAll, dataDirectory, checkpointErrors } = await auditWithCheckpoints(test)
  await write(1)
  const path = join(dataDirectory, 'audit-heads.json')
  for (const text of ['', '[', 'null', '{"1":{}}', '{"1":{"sequence":1,"hash":"00"}}', '{"1":1}']) {
    writeFileSync(path, text)
    await assert.rejects(verifyAll(), { name: 'HeadCheckpointsError' }, text)
  }
  rmSync(path)
  writeFileSync(join(dataDirectory, 'file'), '')
  const chains = await verifyAll({ folder: join(dataDirectory, 'file', 'data') })
  assert.equal(chains[0]?.broken_at, null)
  assert.equal((checkpointErrors[0] as NodeJS.ErrnoException).code, 'ENOTDIR')
})
