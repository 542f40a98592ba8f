import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { it, type TestContext } from 'node:test'
import { runProgram } from '../../testing/program-under-test.ts'
import { loadCredentialKey, loadCredentialKeys } from './installation-keys.ts'

it('the setting is the key, and no file is made', test => {
  const folder = emptyFolder(test)
  const key = loadCredentialKey('ab'.repeat(32), folder)
  assert.deepEqual(key, Buffer.alloc(32, 0xab))
  assert.deepEqual(readdirSync(folder), [])
})

it('without a setting one is made for the owner alone, and found again', test => {
  const folder = emptyFolder(test)
  const key = loadCredentialKey(undefined, folder)
  assert.equal(key.length, 32)
  assert.deepEqual(readdirSync(folder), ['credential-key'])
  assert.equal(statSync(join(folder, 'credential-key')).mode & 0o777, 0o600)
  assert.deepEqual(loadCredentialKey(undefined, folder), key)
  assert.notDeepEqual(loadCredentialKey(undefined, emptyFolder(test)), key)
})

it('starts at the same moment agree on one key', async test => {
  const folder = join(emptyFolder(test), 'data')
  const program = `
    const { credentialKey } = await import(${JSON.stringify(import.meta.resolve('./installation-keys.ts'))})
    console.log(credentialKey(undefined, ${JSON.stringify(folder)}).toString('hex'))`
  const starts = [1, 2, 3, 4].map(() => runProgram(['--input-type=module', '--eval', program]))
  const keys = (await Promise.all(starts)).map(({ log }) => log.trim())
  assert.match(keys[0] ?? '', /^[0-9a-f]{64}$/)
  assert.equal(new Set(keys).size, 1)
  assert.deepEqual(readdirSync(folder), ['credential-key'])
})

it('a file that holds no key is refused with its path and without its content', test => {
  const folder = emptyFolder(test)
  const path = join(folder, 'credential-key')
  for (const content of ['', 'abcd', 'not a key']) {
    writeFileSync(path, content)
    assert.throws(() => loadCredentialKey(undefined, folder), {
      name: 'CredentialKeyError',
      message: `${path} does not hold a key of 32 bytes: restore it from a backup.`,
    })
  }
})

it('a folder that cannot be made is refused in one sentence that names the setting', test => {
  const file = join(emptyFolder(test), 'file')
  writeFileSync(file, '')
  assert.throws(() => loadCredentialKey(undefined, join(file, 'data')), {
    name: 'CredentialKeyError',
    message: /^The key in \S+ cannot be read or made \(ENOTDIR\): .+SIGNALBOX_CREDENTIAL_KEY\.$/,
  })
})

it('who only handles credentials makes no key that no worker has', test => {
  const folder = emptyFolder(test)
  const settings = { credentialKey: undefined, credentialKeysPrevious: [], dataDirectory: folder }
  assert.throws(() => loadCredentialKeys(settings, 'refuse'), {
    name: 'CredentialKeyError',
    message:
      `There is no key in ${join(folder, 'credential-key')}: ` +
      'set SIGNALBOX_CREDENTIAL_KEY to the one that the workers have.',
  })
  assert.deepEqual(readdirSync(folder), [])
  const made = loadCredentialKeys(settings)
  assert.deepEqual(loadCredentialKeys(settings, 'refuse'), made)
})

it('the previous keys stand beside the current one, in their order', test => {
  const previous = ['cd'.repeat(32), 'EF'.repeat(32)]
  const dataDirectory = emptyFolder(test)
  const settings = { credentialKey: 'ab'.repeat(32), credentialKeysPrevious: previous }
  assert.deepEqual(loadCredentialKeys({ ...settings, dataDirectory }), {
    current: Buffer.alloc(32, 0xab),
    previous: [Buffer.alloc(32, 0xcd), Buffer.alloc(32, 0xef)],
  })
})

function emptyFolder(test: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'signalbox-key-'))
  test.after(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}
