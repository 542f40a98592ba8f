import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { it, type TestContext } from 'node:test'
import { type AuditFixture, createAuditFixture, sampleEntry } from '../../testing/fixtures/audit.ts'
import type { ChainLink } from './audit-entry.ts'

interface Receipt {
  actionId: number
  document: string
  documentSha256: Buffer
  entry: ChainLink
}

/** Writes a log with receipts for the entries 2, 4 and 6; the actions are irrelevant. */
async function receiptsUnderTest(test: TestContext): Promise<AuditFixture> {
  const fixture = await createAuditFixture(test)
  for (const actionId of [11, 12, 13]) {
    await fixture.write(1)
    await insertReceipt(fixture, await appendReceipt(fixture, actionId))
  }
  assert.ok((await fixture.verify()).is_intact)
  return fixture
}

async function appendReceipt(
  { database, trail, workspaceId }: AuditFixture,
  actionId: number,
): Promise<Receipt> {
  const document = `{"action_id":${actionId}}`
  const documentSha256 = hash('sha256', document, 'buffer')
  const entry = await trail.append(database, {
    ...sampleEntry(workspaceId, actionId),
    action: 'action.verified',
    subject: { type: 'action', id: String(actionId) },
    details: { document_sha256: documentSha256.toString('hex') },
  })
  return { actionId, document, documentSha256, entry }
}

function insertReceipt({ asOwner, workspaceId }: AuditFixture, receipt: Receipt): Promise<void> {
  const { actionId, document, documentSha256, entry } = receipt
  return asOwner(client =>
    client.query('insert into agent_receipts values ($1, $2, $3, $4, $5, $6)', [
      actionId,
      workspaceId,
      document,
      documentSha256,
      entry.sequence,
      entry.hash,
    ]),
  )
}

/** Returns the finding after the database owner ran a statement. */
async function findingAfter(test: TestContext, statement: string) {
  const fixture = await receiptsUnderTest(test)
  await fixture.asOwner(client => client.query(statement))
  const { broken_at: at, finding } = await fixture.verify()
  return { at, finding }
}

const RECEIPT_MISMATCH = 'The receipt of action 12 does not match entry 4.'

it('finds a changed document, alone and with its digest', async test => {
  const where = 'where action_id = 12'
  assert.deepEqual(await findingAfter(test, `update agent_receipts set document = '{}' ${where}`), {
    at: 4,
    finding: RECEIPT_MISMATCH,
  })
  const both = `update agent_receipts
    set document = '{}', document_sha256 = sha256('{}'::bytea) ${where}`
  assert.deepEqual(await findingAfter(test, both), { at: 4, finding: RECEIPT_MISMATCH })
})

it('finds a changed document digest or entry hash', async test => {
  for (const column of ['document_sha256', 'hash']) {
    const statement = `update agent_receipts set ${column} = sha256('') where action_id = 12`
    assert.deepEqual(await findingAfter(test, statement), { at: 4, finding: RECEIPT_MISMATCH })
  }
})

it('finds a receipt that is missing or moved to another action, entry or workspace', async test => {
  const missing = { at: 4, finding: 'The receipt that entry 4 names is missing.' }
  const where = 'where action_id = 12'
  assert.deepEqual(await findingAfter(test, `delete from agent_receipts ${where}`), missing)
  assert.deepEqual(
    await findingAfter(test, `update agent_receipts set workspace_id = 99 ${where}`),
    missing,
  )
  assert.deepEqual(await findingAfter(test, `update agent_receipts set action_id = 99 ${where}`), {
    at: 4,
    finding: 'The receipt of action 99 does not match entry 4.',
  })
  assert.deepEqual(
    await findingAfter(test, `update agent_receipts set sequence = 5 ${where}`),
    missing,
  )
})

it('finds a receipt without an entry', async test => {
  const insert = (sequence: number) => `insert into agent_receipts
    select 99, workspace_id, document, document_sha256, ${sequence}, hash
    from agent_receipts where action_id = 12`
  assert.deepEqual(await findingAfter(test, insert(3)), {
    at: 3,
    finding: 'The receipt of action 99 names entry 3, which has no receipt.',
  })
  assert.deepEqual(await findingAfter(test, insert(4)), {
    at: 4,
    finding: 'Entry 4 has more than one receipt.',
  })
  assert.deepEqual(await findingAfter(test, insert(0)), {
    at: 1,
    finding: 'The receipt of action 99 names entry 0, which was never written.',
  })
  assert.deepEqual(await findingAfter(test, insert(50)), {
    at: 7,
    finding: 'Entry 7 is missing: the receipt of action 99 names entry 50.',
  })
})

it('finds a receipt in a workspace with an empty log', async test => {
  const fixture = await receiptsUnderTest(test)
  const other = await fixture.newWorkspace()
  await fixture.asOwner(client =>
    client.query('update agent_receipts set workspace_id = $1 where action_id = 11', [other]),
  )
  assert.deepEqual((await fixture.verify(other)).broken_at, 1)
  assert.deepEqual((await fixture.verify()).broken_at, 2)
})
