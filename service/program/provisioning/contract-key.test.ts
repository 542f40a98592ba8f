import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { it, type TestContext } from 'node:test'
import {
  generateSigningKey,
  type PublicSigningKey,
  readSigningKey,
} from '@signalbox/contract/signing-key.ts'
import { runProgram } from '../../../testing/fixtures/program.ts'
import { loadContractKeys } from './installation-keys.ts'

it('uses the setting as the release key and creates no file', async test => {
  const folder = emptyFolder(test)
  const { current, others } = await keysOf(folder, { contractKey: generateSigningKey() })
  assert.equal('x-signing-key' in current.publicKey, false)
  assert.deepEqual(others, [])
  assert.deepEqual(readdirSync(folder), [])
})

it('creates an owner-only development key without a setting and reuses it', async test => {
  const folder = emptyFolder(test)
  const { current } = await keysOf(folder)
  assert.equal(current.publicKey['x-signing-key'], 'development')
  assert.deepEqual(readdirSync(folder), ['contract-key'])
  assert.equal(statSync(join(folder, 'contract-key')).mode & 0o777, 0o600)
  assert.deepEqual((await keysOf(folder)).current.publicKey, current.publicKey)
  const elsewhere = await keysOf(emptyFolder(test))
  assert.notEqual(elsewhere.current.publicKey.kid, current.publicKey.kid)
})

it('uses one key for concurrent starts', async test => {
  const folder = join(emptyFolder(test), 'data')
  const settings = JSON.stringify({ dataDirectory: folder })
  const module = JSON.stringify(import.meta.resolve('./installation-keys.ts'))
  const program = `
    const { loadContractKeys } = await import(${module})
    console.log((await loadContractKeys(${settings})).current.publicKey.kid)`
  const starts = [1, 2, 3, 4].map(() => runProgram(['--input-type=module', '--eval', program]))
  const ids = (await Promise.all(starts)).map(({ stdout: log }) => log.trim())
  assert.match(ids[0] ?? '', /^[\w-]{43}$/)
  assert.equal(new Set(ids).size, 1)
  assert.deepEqual(readdirSync(folder), ['contract-key'])
})

it('publishes the previous keys as public keys with their marks', async test => {
  const old = await publicKey('release')
  const own = await publicKey('development')
  const { others } = await keysOf(emptyFolder(test), {
    contractKeysPrevious: JSON.stringify({ keys: [old, own] }),
  })
  assert.deepEqual(others, [old, own])
})

it('rejects an invalid key without showing it', async test => {
  const folder = emptyFolder(test)
  const privateKey = JSON.parse(generateSigningKey())
  await assertRefused(
    keysOf(folder, { contractKey: '{"kty":"private thing"}' }),
    'SIGNALBOX_CONTRACT_KEY must be an Ed25519 private key, as a JWK or as PKCS#8 in PEM.',
  )
  await assertRefused(
    keysOf(folder, { contractKeysPrevious: JSON.stringify({ keys: [privateKey] }) }),
    'SIGNALBOX_CONTRACT_KEY_PREVIOUS must be a JWK set of Ed25519 public keys.',
  )
  const path = join(folder, 'contract-key')
  writeFileSync(path, 'private, but no key')
  await assertRefused(
    keysOf(folder),
    `${path} does not hold an Ed25519 private key: remove it, and the next start creates another.`,
  )
})

it('names the setting when the data folder cannot be created', async test => {
  const file = join(emptyFolder(test), 'file')
  writeFileSync(file, '')
  const message =
    /^The key in \S+ cannot be read or created \(ENOTDIR\): .+SIGNALBOX_CONTRACT_KEY\.$/
  await assertRefused(keysOf(join(file, 'data')), message)
})

interface GivenKeys {
  contractKey?: string
  contractKeysPrevious?: string
}

function keysOf(dataDirectory: string, { contractKey, contractKeysPrevious }: GivenKeys = {}) {
  return loadContractKeys({ contractKey, contractKeysPrevious, dataDirectory })
}

async function publicKey(origin: 'release' | 'development'): Promise<PublicSigningKey> {
  const key = await readSigningKey(generateSigningKey(), origin)
  assert.ok(key)
  return key.publicKey
}

async function assertRefused(keys: Promise<unknown>, message: string | RegExp): Promise<void> {
  await assert.rejects(keys, { name: 'ContractKeyError', message })
}

function emptyFolder(test: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'signalbox-contract-key-'))
  test.after(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}
