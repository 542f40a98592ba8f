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

it('streams chunks into a private file', async test => {
  const folder = emptyFolder(test)
  const path = join(folder, 'long.txt')
  await streamPrivateFile(path, async write => {
    assert.equal(readdirSync(folder).includes('long.txt'), false)
    for (let chunk = 0; chunk < 100; chunk += 1) await write(`${chunk}\n`)
  })
  assert.equal(readFileSync(path, 'utf8').split('\n').length, 101)
  assert.equal(statSync(path).mode & 0o777, 0o600)
  assert.deepEqual(readdirSync(folder), ['long.txt'])
})

it('leaves no file when writing fails', async test => {
  const folder = emptyFolder(test)
  const half = streamPrivateFile(join(folder, 'half.txt'), async write => {
    await write('half')
    throw new Error('write failed')
  })
  await assert.rejects(half, /write failed/)
  assert.deepEqual(readdirSync(folder), [])
})

it('refuses to replace an existing file', async test => {
  const folder = emptyFolder(test)
  const path = join(folder, 'existing.txt')
  writeFileSync(path, 'mine')
  await assert.rejects(
    streamPrivateFile(path, write => write('theirs')),
    { code: 'EEXIST' },
  )
  assert.equal(readFileSync(path, 'utf8'), 'mine')
  assert.deepEqual(readdirSync(folder), ['existing.txt'])
})
