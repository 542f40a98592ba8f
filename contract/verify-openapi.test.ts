import assert from 'node:assert/strict'
import { it } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import { CompactSign, FlattenedSign } from 'jose'
import { canonicalJson } from './canonical-json.ts'
import { createOpenapiDocument } from './openapi-document.ts'
import { formatDocument } from './print-openapi.ts'
import {
  generateSigningKey,
  type PublicSigningKey,
  publicKeySet,
  readSigningKey,
  type SigningKey,
  signOpenapi,
} from './signing-key.ts'
import { verifySignedDocument } from './verify-openapi.ts'

type Json = Record<string, unknown>

const key = await newKey()
const jwks = JSON.stringify(publicKeySet({ current: key, others: [] }))
const signed = await signOpenapi(createOpenapiDocument(), key)
const text = formatDocument(signed)

it('verifies a signed document in any order and spacing, and returns the key ID', async () => {
  const backwards = Object.fromEntries(Object.entries(signed).reverse())
  for (const same of [text, JSON.stringify(signed), `\n${formatDocument(backwards)}`]) {
    const { document, ...verified } = await verifySignedDocument(same, jwks)
    assert.deepEqual(document, signed)
    assert.deepEqual(verified, { keyId: key.publicKey.kid, isDevelopmentKey: false })
  }
})

it('reports a development key', async () => {
  const own = await newKey('development')
  const document = await signOpenapi(createOpenapiDocument(), own)
  assert.equal(document['x-signing-key'], 'development')
  const verified = await verifySignedDocument(JSON.stringify(document), setOf(own.publicKey))
  assert.equal(verified.isDevelopmentKey, true)
  const { 'x-signing-key': _, ...unmarked } = document
  await assertRefused(JSON.stringify(unmarked), CHANGED, setOf(own.publicKey))
})

it('rejects a document without a signature or without x-signed: true', async () => {
  const { 'x-signature': signature, ...unsigned } = signed
  for (const document of [
    createOpenapiDocument(),
    unsigned,
    { ...createOpenapiDocument(), 'x-signature': signature },
    { ...signed, 'x-signed': 'true' },
    { ...signed, 'x-signed': false },
    { ...signed, 'x-signature': null },
  ]) {
    await assertRefused(JSON.stringify(document), /^The document is not signed: /)
  }
  for (const noDocument of ['', 'null', '[]', '"text"', text.slice(0, -3)]) {
    await assertRefused(noDocument, /^The document is not a JSON object\.$/)
  }
})

it('rejects a document with any value changed or removed', async () => {
  const places = valuesIn(createOpenapiDocument())
  assert.ok(places.length > 1_000)
  const tampering = fc.record({
    place: fc.constantFrom(...places),
    change: fc.constantFrom(...CHANGES),
  })
  await fc.assert(
    fc.asyncProperty(tampering, async ({ place, change }) => {
      const copy = structuredClone(signed)
      change(parentOf(copy, place), place.at(-1) as string)
      if (isDeepStrictEqual(copy, signed)) return
      await assertRefused(JSON.stringify(copy), CHANGED)
    }),
    { numRuns: 300 },
  )
})

it('rejects a document with a member changed, removed, added or renamed', async () => {
  for (const member of Object.keys(createOpenapiDocument())) {
    const { [member]: value, ...others } = signed
    for (const copy of [others, { ...others, [`${member}s`]: value }, { ...signed, [member]: 1 }]) {
      await assertRefused(JSON.stringify(copy), CHANGED)
    }
  }
  await assertRefused(JSON.stringify({ ...signed, 'x-signing-key': 'development' }), CHANGED)
  await assertRefused(text.replace('"info"', '"__proto__": {}, "info"'), CHANGED)
})

it('rejects a repeated member, of which other parsers may take the first', async () => {
  const twice = /^The document repeats a member, /
  await assertRefused(text.replace('{', '{"openapi": "2.0",'), twice)
  await assertRefused(text.replace('"info": {', '"info": {"title": "\\": ", '), twice)
})

it('rejects a lone surrogate, which cannot be signed', async () => {
  await assertRefused(text.replace('"info"', '"x-\\ud83d": 1, "info"'), /lone surrogate/)
})

it('rejects a signature with any character changed', async () => {
  const [header = '', , signature = ''] = String(signed['x-signature']).split('.')
  for (let place = 0; place < signature.length; place += 1) {
    const other = signature[place] === 'A' ? 'B' : 'A'
    const changed = signature.slice(0, place) + other + signature.slice(place + 1)
    await assertRefused(
      withSignature(`${header}..${changed}`),
      /^(The document was|x-signature is)/,
    )
  }
})

it('rejects every other form of a JWS', async () => {
  const [header = '', , signature = ''] = String(signed['x-signature']).split('.')
  const payload = Buffer.from(canonicalJson(createOpenapiDocument())).toString('base64url')
  for (const form of [
    '',
    '..',
    `${header}.`,
    `${header}..`,
    `..${signature}`,
    `${header}.${payload}.${signature}`,
    `${header}..${signature}.`,
    `${header}..${signature}=`,
    `${header}..${signature}\n`,
    `${header}..${signature}AAAAA`,
    JSON.stringify({ protected: header, signature }),
  ]) {
    await assertRefused(withSignature(form), NOT_OURS)
  }
})

it('rejects another algorithm, no algorithm, and additional header members', async () => {
  const { kid, ...jwk } = key.publicKey
  for (const header of [
    { alg: 'none', kid },
    { alg: 'HS256', kid },
    { alg: 'Ed25519', kid },
    { alg: 'eddsa', kid },
    { alg: 'EdDSA' },
    { alg: 'EdDSA', kid: 7 },
    { alg: 'EdDSA', kid, b64: false, crit: ['b64'] },
    { alg: 'EdDSA', kid, b64: true },
    { alg: 'EdDSA', kid, jwk },
    { alg: 'EdDSA', kid, jku: 'https://example.com/jwks.json' },
    { alg: 'EdDSA', kid, typ: 'JWT' },
    ['EdDSA'],
    null,
  ]) {
    const encoded = Buffer.from(JSON.stringify(header)).toString('base64url')
    const [, , signature] = String(signed['x-signature']).split('.')
    await assertRefused(withSignature(`${encoded}..${signature}`), NOT_OURS)
  }
})

it('rejects a valid signature over an unencoded payload (RFC 7797)', async () => {
  const { 'x-signature': _, ...content } = signed
  const { kid } = key.publicKey
  const jws = await new FlattenedSign(Buffer.from(canonicalJson(content)))
    .setProtectedHeader({ alg: 'EdDSA', kid, b64: false, crit: ['b64'] })
    .sign(key.privateKey)
  await assertRefused(withSignature(`${jws.protected}..${jws.signature}`), NOT_OURS)
})

it('rejects a key that is not in the set, even if the document contains it', async () => {
  const stranger = await newKey()
  const { kid } = key.publicKey
  const missing = /^The key set does not contain the Ed25519 key \S+ of the document/
  const strangers = JSON.stringify(await signOpenapi(createOpenapiDocument(), stranger))
  await assertRefused(strangers, missing)
  await assertRefused(text, missing, setOf(stranger.publicKey))
  await assertRefused(text, missing, setOf())
  await assertRefused(text, missing, '{"keys": [null, {"kid": 1}]}')
  await assertRefused(text, missing, setOf(key.publicKey, key.publicKey))
  await assertRefused(text, missing, setOf({ ...key.publicKey, crv: 'X25519' as 'Ed25519' }))
  await assertRefused(text, CHANGED, setOf({ ...stranger.publicKey, kid }))
  await assertRefused(text, /^The key set is not a JSON object\.$/, '[]')
})

it('rejects a signature of another key or over other content', async () => {
  const { 'x-signature': _, ...content } = signed
  const { kid } = key.publicKey
  const stranger = await newKey()
  const sign = async (value: unknown, signer: SigningKey) => {
    const jws = await new CompactSign(Buffer.from(canonicalJson(value)))
      .setProtectedHeader({ alg: 'EdDSA', kid })
      .sign(signer.privateKey)
    return jws.replace(/\.[\w-]+\./, '..')
  }
  await assertRefused(withSignature(await sign(content, stranger)), CHANGED)
  await assertRefused(withSignature(await sign(createOpenapiDocument(), key)), CHANGED)
  await verifySignedDocument(withSignature(await sign(content, key)), jwks)
})

const CHANGED = /^The document was changed after it was signed\.$/
const NOT_OURS = /^x-signature is not a detached JWS with an EdDSA signature /

async function assertRefused(document: string, message: RegExp, keys = jwks): Promise<void> {
  await assert.rejects(verifySignedDocument(document, keys), { name: 'SignatureError', message })
}

async function newKey(origin: 'release' | 'development' = 'release'): Promise<SigningKey> {
  const made = await readSigningKey(generateSigningKey(), origin)
  assert.ok(made)
  return made
}

function setOf(...keys: PublicSigningKey[]): string {
  return JSON.stringify({ keys })
}

function withSignature(jws: string): string {
  return JSON.stringify({ ...signed, 'x-signature': jws })
}

const CHANGES: ((parent: Json, member: string) => void)[] = [
  (parent, member) => {
    const value = parent[member]
    parent[member] =
      typeof value === 'string' ? `${value} ` : typeof value === 'number' ? value + 1 : !value
  },
  (parent, member) => {
    parent[member] = null
  },
  (parent, member) => {
    if (Array.isArray(parent)) parent.splice(Number(member), 1)
    else delete parent[member]
  },
  (parent, member) => {
    if (Array.isArray(parent)) parent.push(parent[Number(member)])
    else parent[`${member}_`] = parent[member]
  },
  parent => {
    if (Array.isArray(parent)) parent.reverse()
  },
]

/** The path to every value that is neither an object nor a list. */
function valuesIn(node: unknown, path: string[] = []): string[][] {
  if (typeof node !== 'object' || node === null) return [path]
  return Object.entries(node).flatMap(([name, value]) => valuesIn(value, [...path, name]))
}

function parentOf(root: Json, path: string[]): Json {
  return path.slice(0, -1).reduce((node, name) => node[name] as Json, root)
}
