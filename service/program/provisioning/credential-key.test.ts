import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { it, type TestContext } from 'node:test'
import { runCommand } from '../../../testing/fixtures/command-line.ts'
import { createDataFolder } from '../../../testing/fixtures/data-folder.ts'
import { createTestDatabase } from '../../../testing/fixtures/database.ts'
import { runProgram } from '../../../testing/fixtures/program.ts'
import { createLogger } from '../../runtime/http/logger.ts'
import { loadCredentialKey, loadCredentialKeys } from './installation-keys.ts'
import { provisionTracker } from './provision-tracker.ts'

it('uses the setting as the key and creates no file', test => {
  const folder = emptyFolder(test)
  const key = loadCredentialKey('ab'.repeat(32), folder)
  assert.deepEqual(key, Buffer.alloc(32, 0xab))
  assert.deepEqual(readdirSync(folder), [])
})

it('creates an owner-only key without a setting and reuses it', test => {
  const folder = emptyFolder(test)
  const key = loadCredentialKey(undefined, folder)
  assert.equal(key.length, 32)
  assert.deepEqual(readdirSync(folder), ['credential-key'])
  assert.equal(statSync(join(folder, 'credential-key')).mode & 0o777, 0o600)
  assert.deepEqual(loadCredentialKey(undefined, folder), key)
  assert.notDeepEqual(loadCredentialKey(undefined, emptyFolder(test)), key)
})

it('uses one key for concurrent starts', async test => {
  const folder = join(emptyFolder(test), 'data')
  const module = JSON.stringify(import.meta.resolve('./installation-keys.ts'))
  const program = `
    const { loadCredentialKey } = await import(${module})
    console.log(loadCredentialKey(undefined, ${JSON.stringify(folder)}).toString('hex'))`
  const starts = [1, 2, 3, 4].map(() => runProgram(['--input-type=module', '--eval', program]))
  const keys = (await Promise.all(starts)).map(({ stdout: log }) => log.trim())
  assert.match(keys[0] ?? '', /^[0-9a-f]{64}$/)
  assert.equal(new Set(keys).size, 1)
  assert.deepEqual(readdirSync(folder), ['credential-key'])
})

it('rejects an invalid key file by its path, without showing its content', test => {
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

it('names the setting when the data folder cannot be created', test => {
  const file = join(emptyFolder(test), 'file')
  writeFileSync(file, '')
  assert.throws(() => loadCredentialKey(undefined, join(file, 'data')), {
    name: 'CredentialKeyError',
    message: /^The key in \S+ cannot be read or created \(ENOTDIR\): .+SIGNALBOX_CREDENTIAL_KEY\.$/,
  })
})

it('does not create a missing key for commands that only handle credentials', test => {
  const folder = emptyFolder(test)
  const settings = { credentialKey: undefined, credentialKeysPrevious: [], dataDirectory: folder }
  assert.throws(() => loadCredentialKeys(settings, 'fail'), {
    name: 'CredentialKeyError',
    message:
      `There is no key in ${join(folder, 'credential-key')}: ` +
      'set SIGNALBOX_CREDENTIAL_KEY to the one that the workers have.',
  })
  assert.deepEqual(readdirSync(folder), [])
  const keys = loadCredentialKeys(settings)
  assert.deepEqual(loadCredentialKeys(settings, 'fail'), keys)
})

it('loads previous keys in order', test => {
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

it('refuses a key that opens none of the credentials in the store', async test => {
  const { database, connectionString } = await createTestDatabase(test)
  const { dataFolder } = createDataFolder(test)
  const logger = createLogger('silent')
  const keys = [randomBytes(32), randomBytes(32)] as const
  const serve = (key: Buffer, previous?: Buffer) =>
    runCommand(['serve'], {
      environment: {
        DATABASE_URL: connectionString,
        PORT: '0',
        SIGNALBOX_DATA_DIR: dataFolder,
        SIGNALBOX_HTTP_WORKERS: '0',
        SIGNALBOX_CREDENTIAL_KEY: key.toString('hex'),
        ...(previous && { SIGNALBOX_CREDENTIAL_KEY_PREVIOUS: previous.toString('hex') }),
      },
    })
  assert.equal((await serve(keys[1])).code, 0, 'a store without credentials')
  const credentialKeys = { current: keys[0], previous: [] }
  const at = new Date()
  await provisionTracker(database, { workspaceName: 'Test', at, credentialKeys, logger })
  const { code, stderr } = await serve(keys[1])
  assert.equal(code, 1)
  assert.match(
    stderr,
    /^SIGNALBOX_CREDENTIAL_KEY opens none of the credentials in the store: set [^\n]+\.\n$/,
  )
  assert.doesNotMatch(stderr, new RegExp(keys[1].toString('hex')))
  assert.equal((await serve(keys[0])).code, 0)
  assert.equal((await serve(keys[1], keys[0])).code, 0)
})
