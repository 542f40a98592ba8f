import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { it, type TestContext } from 'node:test'
import { type AuditUnderTest, auditUnderTest } from '../../testing/audit-under-test.ts'
import { findHead, type StoredHead } from './audit-read-store.ts'
import { readHeadCheckpoints, saveHeadCheckpoints } from './head-checkpoints.ts'
import type { AuditHead } from './signed-head.ts'
import { type VerifiedChain, verifyChains } from './verify-chains.ts'

interface Order {
  workspaceId?: number
  given?: AuditHead
  folder?: string
}

/** An audit log beside a data folder of its own. */
async function rememberedAudit(test: TestContext) {
  const under = await auditUnderTest(test)
  const dataDirectory = mkdtempSync(join(tmpdir(), 'signalbox-audit-'))
  test.after(() => rmSync(dataDirectory, { recursive: true, force: true }))
  const forgotten: unknown[] = []
  const verifyAll = async ({ workspaceId, given, folder = dataDirectory }: Order = {}) => {
    const { database, keys, clock } = under
    const onForgotten = (error: unknown) => void forgotten.push(error)
    const context = { database, keys, dataDirectory: folder, now: clock.now(), onForgotten }
    const order = { workspaceId: workspaceId ?? null, given: given ?? null }
    const chains: VerifiedChain[] = await Array.fromAsync(verifyChains(context, order))
    return chains.map(({ workspaceId: id, broken_at, finding }) => ({ id, broken_at, finding }))
  }
  return { ...under, dataDirectory, forgotten, verifyAll }
}

/** As the owner of the database does who kept the row of the head when the log was shorter. */
async function restoreOlder(
  { asOwner, workspaceId }: AuditUnderTest,
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

async function headOf({ database, workspaceId }: AuditUnderTest): Promise<StoredHead> {
  const head = await findHead(database, workspaceId)
  assert.ok(head)
  return head
}

it('a cut tail under an older signed head is found by what was verified last', async test => {
  const under = await rememberedAudit(test)
  const { write, verifyAll, workspaceId: id } = under
  await write(4)
  const older = await headOf(under)
  await write(3)
  assert.equal((await verifyAll())[0]?.broken_at, null)
  await restoreOlder(under, older)
  const missing = {
    id,
    broken_at: 5,
    finding: 'Entry 5 is missing: the head that was verified last reaches to entry 7.',
  }
  assert.deepEqual(await verifyAll(), [missing])
  assert.deepEqual(await verifyAll(), [missing], 'a broken log is not remembered')
  // Other entries than those that stood there before.
  for (let entry = 0; entry < 3; entry += 1) await write(1)
  assert.deepEqual(await verifyAll(), [
    { id, broken_at: 7, finding: 'Entry 7 is not the one of the head that was verified last.' },
  ])
})

it('a cut tail under an older signed head is found by a head that somebody kept', async test => {
  const under = await rememberedAudit(test)
  const { write, verifyAll, workspaceId: id } = under
  await write(4)
  const older = await headOf(under)
  await write(3)
  const given = await headOf(under)
  assert.equal(
    (await verifyAll({ given, folder: join(under.dataDirectory, 'elsewhere') }))[0]?.broken_at,
    null,
  )
  await restoreOlder(under, older)
  assert.deepEqual(await verifyAll({ given }), [
    {
      id,
      broken_at: 5,
      finding: 'Entry 5 is missing: the head that was given reaches to entry 7.',
    },
  ])
})

it('a log that is gone with its workspace is still asked for', async test => {
  const under = await rememberedAudit(test)
  const { write, verifyAll, newWorkspace, asOwner, workspaceId } = under
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

it('one workspace is verified alone, and what is known of the others stays', async test => {
  const { write, verifyAll, newWorkspace, dataDirectory, workspaceId } = await rememberedAudit(test)
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

it('the memo is for its owner alone and holds nothing but places and digests', async test => {
  const under = await rememberedAudit(test)
  await under.write(2)
  await under.verifyAll()
  const path = join(under.dataDirectory, 'audit-heads.json')
  assert.equal(statSync(path).mode & 0o777, 0o600)
  assert.deepEqual(readdirSync(under.dataDirectory), ['audit-heads.json'])
  const { hash } = await headOf(under)
  assert.deepEqual(JSON.parse(readFileSync(path, 'utf8')), {
    [under.workspaceId]: { sequence: 2, hash: hash.toString('hex') },
  })
})

it('of two heads of one workspace the later one stays', async test => {
  const { dataDirectory } = await rememberedAudit(test)
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

it('a memo that says something else is refused, and a folder that cannot be written is told', async test => {
  const { write, verifyAll, dataDirectory, forgotten } = await rememberedAudit(test)
  await write(1)
  const path = join(dataDirectory, 'audit-heads.json')
  for (const text of ['', '[', 'null', '{"1":{}}', '{"1":{"sequence":1,"hash":"00"}}', '{"1":1}']) {
    writeFileSync(path, text)
    await assert.rejects(verifyAll(), { name: 'RememberedHeadsError' }, text)
  }
  rmSync(path)
  writeFileSync(join(dataDirectory, 'file'), '')
  const chains = await verifyAll({ folder: join(dataDirectory, 'file', 'data') })
  assert.equal(chains[0]?.broken_at, null)
  assert.equal((forgotten[0] as NodeJS.ErrnoException).code, 'ENOTDIR')
})
