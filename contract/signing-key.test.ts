import assert from 'node:assert/strict'
import { createPrivateKey, generateKeyPairSync } from 'node:crypto'
import { it } from 'node:test'
import { generateSigningKey, publicKeySet, readPublicKeys, readSigningKey } from './signing-key.ts'

/** The key of RFC 8037, appendix A, with its thumbprint of appendix A.3. */
const PRIVATE = {
  kty: 'OKP',
  crv: 'Ed25519',
  d: 'nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A',
  x: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo',
}
const PUBLIC = {
  kty: 'OKP',
  crv: 'Ed25519',
  x: PRIVATE.x,
  kid: 'kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k',
  alg: 'EdDSA',
  use: 'sig',
}

it('reads the key of RFC 8037 as a JWK and as PEM, with its thumbprint as kid', async () => {
  const pem = createPrivateKey({ key: PRIVATE, format: 'jwk' }).export({
    format: 'pem',
    type: 'pkcs8',
  })
  for (const text of [JSON.stringify(PRIVATE), String(pem), `\n ${JSON.stringify(PRIVATE)}\n`]) {
    const key = await readSigningKey(text, 'release')
    assert.deepEqual(key?.publicKey, PUBLIC)
  }
  const own = await readSigningKey(JSON.stringify(PRIVATE), 'development')
  assert.deepEqual(own?.publicKey, { ...PUBLIC, 'x-signing-key': 'development' })
})

it('derives the public key from the private key alone', async () => {
  const { x: strange } = JSON.parse(generateSigningKey())
  const text = JSON.stringify({ ...PRIVATE, x: strange, kid: 'mine' })
  const key = await readSigningKey(text, 'release')
  assert.deepEqual(key?.publicKey, PUBLIC)
})

it('generates a new key each time', async () => {
  const [one, two] = await Promise.all(
    [generateSigningKey(), generateSigningKey()].map(text => readSigningKey(text, 'release')),
  )
  assert.ok(one && two)
  assert.notEqual(one.publicKey.kid, two.publicKey.kid)
})

it('returns null for text without an Ed25519 private key', async () => {
  const { d: _, ...publicOnly } = PRIVATE
  const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey
  const x25519 = generateKeyPairSync('x25519').privateKey
  for (const text of [
    '',
    'null',
    '[]',
    '{}',
    'a key',
    JSON.stringify(publicOnly),
    JSON.stringify({ ...PRIVATE, d: 'short' }),
    JSON.stringify(rsa.export({ format: 'jwk' })),
    rsa.export({ format: 'pem', type: 'pkcs8' }).toString(),
    JSON.stringify(x25519.export({ format: 'jwk' })),
  ]) {
    assert.equal(await readSigningKey(text, 'release'), null, text)
  }
})

it('reads the public keys of a set, and rejects a set with a private key', async () => {
  const marked = { ...PUBLIC, 'x-signing-key': 'development' }
  const read = (...keys: unknown[]) => readPublicKeys(JSON.stringify({ keys }))
  assert.deepEqual(await read(), [])
  assert.deepEqual(await read(PUBLIC, marked), [PUBLIC, marked])
  assert.deepEqual(await read({ kty: 'OKP', crv: 'Ed25519', x: PUBLIC.x, kid: 'other' }), [PUBLIC])
  for (const wrong of [
    PRIVATE,
    null,
    'key',
    { ...PUBLIC, x: 'short' },
    { ...PUBLIC, kty: 'RSA' },
  ]) {
    assert.equal(await read(PUBLIC, wrong), null)
  }
  for (const text of ['', '[]', '{}', 'null', JSON.stringify(PUBLIC)]) {
    assert.equal(await readPublicKeys(text), null)
  }
})

it('publishes every key once, the current one first, without private keys', async () => {
  const current = await readSigningKey(JSON.stringify(PRIVATE), 'release')
  const other = await readSigningKey(generateSigningKey(), 'release')
  assert.ok(current && other)
  const others = [other.publicKey, current.publicKey]
  const set = publicKeySet({ current, others })
  assert.deepEqual(set, { keys: [PUBLIC, other.publicKey] })
  assert.equal(JSON.stringify(set).includes(PRIVATE.d), false)
})
