import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { it, type TestContext } from 'node:test'
import { streamPrivateFile } from './private-file.ts'

function emptyFolder(test: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'signalbox-stream-'))
  test.after(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

it('writes piece after piece into a file for its owner alone', async test => {
  const folder = emptyFolder(test)
  const path = join(folder, 'long.txt')
  await streamPrivateFile(path, async write => {
    assert.equal(readdirSync(folder).includes('long.txt'), false)
    for (let piece = 0; piece < 100; piece += 1) await write(`${piece}\n`)
  })
  assert.equal(readFileSync(path, 'utf8').split('\n').length, 101)
  assert.equal(statSync(path).mode & 0o777, 0o600)
  assert.deepEqual(readdirSync(folder), ['long.txt'])
})

it('leaves nothing when it does not come to its end', async test => {
  const folder = emptyFolder(test)
  const half = streamPrivateFile(join(folder, 'half.txt'), async write => {
    await write('half')
    throw new Error('cut off')
  })
  await assert.rejects(half, /cut off/)
  assert.deepEqual(readdirSync(folder), [])
})

it('leaves what is there as it is', async test => {
  const folder = emptyFolder(test)
  const path = join(folder, 'kept.txt')
  writeFileSync(path, 'mine')
  await assert.rejects(
    streamPrivateFile(path, write => write('theirs')),
    { code: 'EEXIST' },
  )
  assert.equal(readFileSync(path, 'utf8'), 'mine')
  assert.deepEqual(readdirSync(folder), ['kept.txt'])
})
