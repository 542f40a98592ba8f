import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { it } from 'node:test'
import { gzipSync } from 'node:zlib'
import { buildTag } from './build-tag.ts'

const GZIPPED_BYTES_MAX = 3_072
const read = (file: string) => readFileSync(join(import.meta.dirname, file), 'utf8')
const committed = read('dist/tag.generated.js')

it('the committed tag and its integrity are up to date (otherwise run npm run browser:build)', async () => {
  const { script, integrity } = await buildTag()
  assert.equal(committed, script)
  assert.deepEqual(JSON.parse(read('dist/integrity.json')), integrity)
})

it(`the tag is at most ${GZIPPED_BYTES_MAX} bytes gzipped`, () => {
  assert.ok(gzipSync(committed, { level: 9 }).byteLength <= GZIPPED_BYTES_MAX)
})

it('the integrity is the SHA-384 of the committed tag and the hash in the README', () => {
  const { sha384, file } = JSON.parse(read('dist/integrity.json'))
  const digest = createHash('sha384')
    .update(read(`dist/${file}`))
    .digest('base64')
  assert.equal(sha384, `sha384-${digest}`)
  const named = read('README.md').match(/sha384-[A-Za-z0-9+/]{64}/g)
  assert.ok(named)
  assert.deepEqual([...new Set(named)], [sha384])
})

it('the tag stores only its cookie and sends only to its endpoint', () => {
  const uses = (pattern: RegExp) => committed.match(pattern)?.length ?? 0
  assert.equal(uses(/localStorage|sessionStorage|indexedDB|XMLHttpRequest|https?:\/\//g), 0)
  assert.equal(uses(/\bfetch\(/g), 1)
  assert.equal(uses(/\.sendBeacon\(/g), 1)
})
