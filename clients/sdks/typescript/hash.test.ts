import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { it } from 'node:test'
import { hash } from './src/sdk.ts'

const HELPERS = { email: hash.email, phone: hash.phone, external_id: hash.externalId }

it('the digests are those of the service', async () => {
  const path = join(import.meta.dirname, '..', 'hash-vectors.json')
  const vectors: { helper: keyof typeof HELPERS; input: string; sha256: string | null }[] =
    JSON.parse(readFileSync(path, 'utf8'))
  for (const { helper, input, sha256 } of vectors) {
    assert.equal(await HELPERS[helper](input), sha256, `${helper} ${input}`)
  }
})
