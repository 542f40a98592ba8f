import assert from 'node:assert/strict'
import { createPublicKey, hash, verify } from 'node:crypto'
import { text } from 'node:stream/consumers'
import { it } from 'node:test'
import { createAuditFixture, insertAuditLog } from '../../testing/fixtures/audit.ts'
import { createContractKeys } from '../../testing/fixtures/service-start.ts'
import { waitUntil } from '../../testing/fixtures/wait-until.ts'
import { findHead } from './audit-read-store.ts'
import { exportAudit } from './read-audit.ts'
import { isSignedHead, parseHeadLine } from './signed-head.ts'

const createKey = async () => (await createContractKeys()).current

it('exports entries that can be recomputed, then the signed head', async test => {
  const { database, keys, write, newWorkspace, workspaceId } = await createAuditFixture(test)
  await write(3)
  await write(2, await newWorkspace())
  const lines = (await text(exportAudit(database, { workspaceId, signingKey: await createKey() })))
    .trimEnd()
    .split('\n')
  assert.equal(lines.length, 4)
  let previous = '0'.repeat(64)
  for (const [index, line] of lines.slice(0, 3).entries()) {
    const entry = JSON.parse(line)
    assert.deepEqual(Object.keys(entry), [
      'workspace_id',
      'sequence',
      'previous_hash',
      'hash',
      'body',
    ])
    assert.equal(entry.workspace_id, workspaceId)
    assert.equal(entry.sequence, index + 1)
    assert.equal(entry.previous_hash, previous)
    assert.equal(hash('sha256', entry.body), entry.hash)
    previous = entry.hash
  }
  const found = parseHeadLine(lines.at(-1) ?? '')
  assert.ok(found)
  const { head, signature } = found
  assert.deepEqual({ ...head, signature }, await findHead(database, workspaceId))
  assert.ok(isSignedHead(keys, head, signature))
})

it('reads a long log page by page on demand, without holding a connection', async test => {
  const fixture = await createAuditFixture(test)
  await insertAuditLog(fixture, 1_700)
  const stream = exportAudit(fixture.database, {
    workspaceId: fixture.workspaceId,
    signingKey: await createKey(),
  })
  const chunks = stream.iterator()
  const first = await chunks.next()
  assert.equal(String(first.value).trimEnd().split('\n').length, 500)
  await fixture.write(1)
  const { pool } = fixture.database
  // The stream reads one page ahead.
  await waitUntil('no connection is held', () => pool.totalCount === pool.idleCount)
  let [lines, last] = [500, '']
  for await (const chunk of chunks) {
    const found = String(chunk).trimEnd().split('\n')
    lines += found.length
    last = found.at(-1) ?? ''
  }
  assert.equal(lines, 1_701)
  assert.equal(parseHeadLine(last)?.head.sequence, 1_700, 'the head from the start of the export')
})

it('exports an unsigned head for an empty log', async test => {
  const { database, workspaceId } = await createAuditFixture(test)
  const signingKey = await createKey()
  const line = await text(exportAudit(database, { workspaceId, signingKey }))
  const { jws, ...rest } = JSON.parse(line)
  const head = {
    workspace_id: workspaceId,
    sequence: 0,
    hash: '0'.repeat(64),
    signature: '',
    canonical_form: 'RFC 8785',
    hash_algorithm: 'SHA-256',
  }
  assert.deepEqual(rest, head)
  const [header = '', payload = '', signature = ''] = jws.split('.')
  const parse = (part: string) => JSON.parse(Buffer.from(part, 'base64url').toString('utf8'))
  assert.deepEqual(parse(payload), head)
  const { kid } = signingKey.publicKey
  assert.deepEqual(parse(header), { alg: 'EdDSA', kid, typ: 'signalbox-audit-head' })
  const key = createPublicKey({ key: { ...signingKey.publicKey }, format: 'jwk' })
  const content = Buffer.from(`${header}.${payload}`)
  assert.ok(verify(null, content, key, Buffer.from(signature, 'base64url')))
  assert.equal(parseHeadLine(line), null)
})

it('parses nothing but a signed head line', () => {
  const head = { workspace_id: 1, sequence: 2, hash: 'a'.repeat(64), signature: 'b'.repeat(64) }
  assert.ok(parseHeadLine(JSON.stringify(head)))
  for (const changes of [
    { sequence: '2' },
    { sequence: 1.5 },
    { sequence: -1 },
    { workspace_id: null },
    { hash: 'A'.repeat(64) },
    { hash: 'a' },
    { signature: undefined },
  ]) {
    assert.equal(parseHeadLine(JSON.stringify({ ...head, ...changes })), null)
  }
  for (const line of ['', 'null', '[]', '{', '"x"']) assert.equal(parseHeadLine(line), null)
})
