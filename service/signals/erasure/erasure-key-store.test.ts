import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { it } from 'node:test'
import { createTestDatabase } from '../../../testing/fixtures/database.ts'
import type { Database } from '../../runtime/db/database.ts'
import type { CredentialKeys } from '../../runtime/util/sealed-credential.ts'
import { createErasureKeyProvider, ErasureKeyError, resealErasureKey } from './erasure-store.ts'

const AT = new Date('2026-11-21T12:00:00.000Z')

function sourceOf(database: Database, credentialKeys: CredentialKeys) {
  return createErasureKeyProvider({ database, credentialKeys, now: () => AT })
}

function newKeys(previous: readonly Buffer[] = []): CredentialKeys {
  return { current: randomBytes(32), previous }
}

async function textOf(source: ReturnType<typeof sourceOf>): Promise<string> {
  return (await source()).export().toString('hex')
}

it('provides the same key to all processes, even on a concurrent first call', async test => {
  const { database } = await createTestDatabase(test)
  const keys = newKeys()
  const sources = Array.from({ length: 6 }, () => sourceOf(database, keys))
  const found = await Promise.all(sources.map(textOf))
  assert.match(found[0] ?? '', /^[0-9a-f]{64}$/)
  assert.equal(new Set(found).size, 1)
  assert.equal(await textOf(sourceOf(database, keys)), found[0])
})

it('stores the key encrypted', async test => {
  const { database } = await createTestDatabase(test)
  const text = await textOf(sourceOf(database, newKeys()))
  const { rows } = await database.pool.query('select t::text as row from erasure_keys t')
  assert.equal(rows.length, 1)
  assert.ok(!rows[0].row.includes(text))
})

it('survives a rotation of the credential key', async test => {
  const { database } = await createTestDatabase(test)
  const old = newKeys()
  const text = await textOf(sourceOf(database, old))
  const rotated = newKeys([old.current])
  assert.equal(await textOf(sourceOf(database, rotated)), text)
  // Processes that have not restarted still need it under the old key.
  assert.equal(await textOf(sourceOf(database, old)), text)
  assert.equal(await resealErasureKey(database, rotated), true)
  assert.equal(await resealErasureKey(database, rotated), false)
  assert.equal(await textOf(sourceOf(database, { ...rotated, previous: [] })), text)
})

it('has nothing to reseal before the first deletion', async test => {
  const { database } = await createTestDatabase(test)
  assert.equal(await resealErasureKey(database, newKeys()), false)
})

it('throws when no key decrypts it and succeeds later with the right key', async test => {
  const { database } = await createTestDatabase(test)
  const keys = newKeys()
  const text = await textOf(sourceOf(database, keys))
  const others: { current: Buffer; previous: Buffer[] } = { current: randomBytes(32), previous: [] }
  const source = sourceOf(database, others)
  const refusal = (error: unknown) => {
    assert.ok(error instanceof ErasureKeyError)
    assert.match(error.message, /^The key of erased identifiers cannot be opened .+PREVIOUS\.$/)
    return true
  }
  await assert.rejects(source, refusal)
  await assert.rejects(resealErasureKey(database, others), refusal)
  others.previous.push(keys.current)
  assert.equal(await textOf(source), text)
})
