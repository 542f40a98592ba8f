import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { it, type TestContext } from 'node:test'
import {
  type Credentials,
  readCredentialsFile,
  reserveCredentialsFile,
  writeCredentialsFile,
  writeKeyFile,
} from './credentials-file.ts'

const CREDENTIALS: Credentials = {
  base_url: 'http://127.0.0.1:3000/api/v1',
  tracker_id: 'tracker',
  tracker_secret: 'secret',
  publishable_key: 'key',
  forwarding_secret: 'forwarding',
  destination_id: 'destination',
  simulator_url: null,
  workspace_id: 1,
  ad_account_id: 1,
  owner_email: 'owner@demo.example',
  owner_password: 'password',
  execution_token: 'token',
}

it('writes an owner-only file, also over an open one, and leaves no temporary file', test => {
  const folder = emptyFolder(test)
  const path = join(folder, 'new', 'credentials.json')
  writeCredentialsFile(path, CREDENTIALS)
  assert.deepEqual(JSON.parse(readFileSync(path, 'utf8')), CREDENTIALS)
  assert.equal(statSync(path).mode & 0o777, 0o600)

  const open = join(folder, 'open.json')
  writeFileSync(open, '{}', { mode: 0o644 })
  writeCredentialsFile(open, CREDENTIALS)
  assert.equal(statSync(open).mode & 0o777, 0o600)
  assert.deepEqual(readdirSync(folder).sort(), ['new', 'open.json'])
})

it('names a path that cannot be written', test => {
  const file = join(emptyFolder(test), 'file')
  writeFileSync(file, '')
  const path = join(file, 'credentials.json')
  const refusal = {
    name: 'CredentialsFileError',
    message: `The credentials cannot be written to ${path} (ENOTDIR).`,
  }
  assert.throws(() => writeCredentialsFile(path, CREDENTIALS), refusal)
  assert.throws(() => reserveCredentialsFile(path), refusal)
})

it('reserves a path once, owner-only, and releases it', test => {
  const path = join(emptyFolder(test), 'credentials.json')
  const giveBack = reserveCredentialsFile(path)
  assert.equal(statSync(path).mode & 0o777, 0o600)
  assert.throws(() => reserveCredentialsFile(path), {
    name: 'CredentialsFileError',
    message: `${path} already exists: name a new file.`,
  })
  giveBack()
  writeCredentialsFile(path, CREDENTIALS)
  assert.throws(() => reserveCredentialsFile(path), /already exists/)
})

it('returns null for anything that is not a credentials file', test => {
  const path = join(emptyFolder(test), 'credentials.json')
  assert.equal(readCredentialsFile(path), null)
  const { destination_id: _, ...incomplete } = CREDENTIALS
  for (const content of ['', '{"tracker_id"', 'null', '[]', JSON.stringify(incomplete)]) {
    writeFileSync(path, content)
    assert.equal(readCredentialsFile(path), null, content)
  }
  writeCredentialsFile(path, CREDENTIALS)
  assert.deepEqual(readCredentialsFile(path), CREDENTIALS)
})

it('reads a file of a version without browser keys', test => {
  const path = join(emptyFolder(test), 'credentials.json')
  const { publishable_key: _, forwarding_secret: __, ...older } = CREDENTIALS
  writeFileSync(path, JSON.stringify(older))
  assert.deepEqual(readCredentialsFile(path), older)
})

it('writes a single key under its name in the credentials', test => {
  const path = join(emptyFolder(test), 'key.json')
  writeKeyFile(path, { tracker_id: 'tracker', publishable_key: 'key' })
  const text = readFileSync(path, 'utf8')
  assert.deepEqual(JSON.parse(text), { tracker_id: 'tracker', publishable_key: 'key' })
  assert.equal(statSync(path).mode & 0o777, 0o600)
})

function emptyFolder(test: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'signalbox-credentials-'))
  test.after(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}
