import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { it } from 'node:test'
import { normalizeMetaUserData } from '../../service/signals/platforms/meta/normalize-identity.ts'
import { TIMES } from '../../testing/fixtures/meta-identity.ts'

interface HashVector {
  helper: 'email' | 'phone' | 'external_id'
  input: string
  sha256: string | null
}

const FIELDS = { email: 'em', phone: 'ph', external_id: 'external_id' }

it('the vectors of the hash helpers are what the service computes', () => {
  const text = readFileSync(join(import.meta.dirname, 'hash-vectors.json'), 'utf8')
  const vectors: HashVector[] = JSON.parse(text)
  assert.ok(vectors.length > 60)
  for (const { helper, input, sha256 } of vectors) {
    const field = FIELDS[helper]
    const { digests } = normalizeMetaUserData({ [field]: input }, TIMES)
    assert.equal(digests[field]?.[0] ?? null, sha256, `${helper} ${input}`)
  }
})
