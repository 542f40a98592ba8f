import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { it } from 'node:test'

it('the campaign API gets no transaction, so that no lock waits for its answers', () => {
  const source = readFileSync(join(import.meta.dirname, 'campaign-api.ts'), 'utf8')
  assert.match(source, /\bchangeEntity\(adAccountId: number, change: EntityChange\)/)
  assert.doesNotMatch(source, / from '\./)
})
