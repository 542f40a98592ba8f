import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { it } from 'node:test'
import { createHashVectors } from '../hash-texts.ts'
import { GO_MILLISECONDS_MAX, GO_TEST, openGo, temporaryFolder } from './testing/run-go.ts'

it('digests as the TypeScript client does, in every script', {
  timeout: GO_MILLISECONDS_MAX,
}, async test => {
  const go = openGo(test)
  if (!go) return
  const vectors = await createHashVectors()
  const path = join(temporaryFolder(test), 'vectors.json')
  writeFileSync(path, JSON.stringify(vectors))
  const { code, output } = await go.run(['test', ...GO_TEST, '-v', '-run', 'HashVectors', '.'], {
    environment: { SIGNALBOX_HASH_VECTORS: path },
  })
  assert.equal(code, 0, output.slice(0, 4_000))
  assert.equal(output.match(/--- PASS/g)?.length, 2)
  const digested = vectors.filter(({ sha256 }) => sha256 !== null)
  assert.ok(digested.length > 10_000, String(digested.length))
})
