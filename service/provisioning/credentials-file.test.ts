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

it('the file is for its owner alone, also where an open one stood, and leaves no draft', test => {
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

it('a place that cannot be written is named in one sentence', test => {
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

it('a place is reserved once, is closed to others, and can be given back', test => {
  const path = join(emptyFolder(test), 'credentials.json')
  const giveBack = reserveCredentialsFile(path)
  assert.equal(statSync(path).mode & 0o777, 0o600)
  assert.throws(() => reserveCredentialsFile(path), {
    name: 'CredentialsFileError',
    message: `${path} is there already: name a file that is not.`,
  })
  giveBack()
  writeCredentialsFile(path, CREDENTIALS)
  assert.throws(() => reserveCredentialsFile(path), /is there already/)
})

it('what is no credentials file is read as none', test => {
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

it('a file of a version that knew no browser keys is read all the same', test => {
  const path = join(emptyFolder(test), 'credentials.json')
  const { publishable_key: _, forwarding_secret: __, ...older } = CREDENTIALS
  writeFileSync(path, JSON.stringify(older))
  assert.deepEqual(readCredentialsFile(path), older)
})

it('a single key stands under the name that it has among the credentials', test => {
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
