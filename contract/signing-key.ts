import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto'
import { CompactSign, calculateJwkThumbprint } from 'jose'
import { canonicalJson } from './canonical-json.ts'

/** A key of a JWK set (RFC 7517) that verifies the contract's signature. */
export interface PublicSigningKey {
  kty: 'OKP'
  crv: 'Ed25519'
  x: string
  /** The key's RFC 7638 thumbprint. */
  kid: string
  alg: 'EdDSA'
  use: 'sig'
  /** Generated on the first start of an installation: not trusted by others. */
  'x-signing-key'?: 'development'
}

export interface SigningKey {
  privateKey: KeyObject
  publicKey: PublicSigningKey
}

/** The key that signs the contract, and the previous or next keys. */
export interface ContractKeys {
  current: SigningKey
  others: PublicSigningKey[]
}

interface PublicKeySet {
  keys: PublicSigningKey[]
}

/** A key of a release, or one that an installation generated. */
type KeyOrigin = 'release' | 'development'

/** Reads an Ed25519 private key, as a JWK or as PKCS#8 in PEM. Null when the text holds none. */
export async function readSigningKey(text: string, origin: KeyOrigin): Promise<SigningKey | null> {
  const privateKey = parsePrivateKey(text)
  if (privateKey?.asymmetricKeyType !== 'ed25519') return null
  const { x = '' } = createPublicKey(privateKey).export({ format: 'jwk' })
  return { privateKey, publicKey: await publicSigningKey(x, origin) }
}

/** A new private key as JWK text. */
export function generateSigningKey(): string {
  const { privateKey } = generateKeyPairSync('ed25519')
  return JSON.stringify(privateKey.export({ format: 'jwk' }))
}

/** Reads a JWK set of Ed25519 public keys. Null when it is none, or holds a private key. */
export async function readPublicKeys(text: string): Promise<PublicSigningKey[] | null> {
  const keys = parseJsonObject(text)?.keys
  if (!Array.isArray(keys) || !keys.every(isPublicKey)) return null
  return Promise.all(keys.map(key => publicSigningKey(key.x, key['x-signing-key'] ?? 'release')))
}

/** What is published: every key once, the current one first. */
export function publicKeySet({ current, others }: ContractKeys): PublicKeySet {
  const keys = new Map([current.publicKey, ...others].map(key => [key.kid, key]))
  return { keys: [...keys.values()] }
}

async function publicSigningKey(x: string, origin: KeyOrigin): Promise<PublicSigningKey> {
  const key = { kty: 'OKP', crv: 'Ed25519', x } as const
  const kid = await calculateJwkThumbprint(key)
  const marker = origin === 'development' && ({ 'x-signing-key': 'development' } as const)
  return { ...key, kid, alg: 'EdDSA', use: 'sig', ...marker }
}

function parsePrivateKey(text: string): KeyObject | null {
  const key = parseJsonObject(text)
  try {
    return key ? createPrivateKey({ key, format: 'jwk' }) : createPrivateKey(text)
  } catch {
    return null
  }
}

/** 32 bytes in base64url. */
const X_COORDINATE = /^[\w-]{43}$/

/** A JWK with a private part is not a public key, so that no secret is published by mistake. */
export function isPublicKey(value: unknown): value is PublicSigningKey {
  if (typeof value !== 'object' || value === null) return false
  const { kty, crv, x = '', ...more } = value as Partial<PublicSigningKey>
  return kty === 'OKP' && crv === 'Ed25519' && X_COORDINATE.test(x) && !('d' in more)
}

function parseJsonObject(text: string): Record<string, unknown> | null {
  try {
    const value = JSON.parse(text)
    return typeof value === 'object' ? value : null
  } catch {
    return null
  }
}

type Json = Record<string, unknown>

/**
 * The document with `x-signed: true` and, in `x-signature`, a detached JWS (RFC 7515, appendix F:
 * Ed25519, without the payload) over the RFC 8785 text of everything else in it. A document signed
 * with a development key is marked as such, under the signature.
 */
export async function signOpenapi(document: Json, key: SigningKey): Promise<Json> {
  const { kid, 'x-signing-key': origin } = key.publicKey
  const marked = { ...document, 'x-signed': true, ...(origin && { 'x-signing-key': origin }) }
  const jws = await new CompactSign(Buffer.from(canonicalJson(marked)))
    .setProtectedHeader({ alg: 'EdDSA', kid })
    .sign(key.privateKey)
  const [header, , signature] = jws.split('.')
  return { ...marked, 'x-signature': `${header}..${signature}` }
}
