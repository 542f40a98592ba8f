import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto'
import { calculateJwkThumbprint } from 'jose'

/** A key of a JWK set (RFC 7517) that the contract's signature is checked with. */
export interface PublicSigningKey {
  kty: 'OKP'
  crv: 'Ed25519'
  x: string
  /** The key's RFC 7638 thumbprint. */
  kid: string
  alg: 'EdDSA'
  use: 'sig'
  /** Made on the first start of an installation: nobody vouches for it. */
  'x-signing-key'?: 'development'
}

export interface SigningKey {
  privateKey: KeyObject
  publicKey: PublicSigningKey
}

/** What the contract is signed with, and the keys that signed it before or will after. */
export interface ContractKeys {
  current: SigningKey
  others: PublicSigningKey[]
}

export interface PublicKeySet {
  keys: PublicSigningKey[]
}

/** Whether somebody vouches for a key, or an installation made it for itself. */
export type KeyOrigin = 'release' | 'development'

/** Reads an Ed25519 private key, as a JWK or as PKCS#8 in PEM. Null when the text holds none. */
export async function readSigningKey(text: string, origin: KeyOrigin): Promise<SigningKey | null> {
  const privateKey = privateKeyOf(text)
  if (privateKey?.asymmetricKeyType !== 'ed25519') return null
  const { x = '' } = createPublicKey(privateKey).export({ format: 'jwk' })
  return { privateKey, publicKey: await publicSigningKey(x, origin) }
}

/** A new private key, as the text of a JWK. */
export function newSigningKey(): string {
  const { privateKey } = generateKeyPairSync('ed25519')
  return JSON.stringify(privateKey.export({ format: 'jwk' }))
}

/** Reads a JWK set of Ed25519 public keys. Null when it is none, or holds a private key. */
export async function readPublicKeys(text: string): Promise<PublicSigningKey[] | null> {
  const keys = jsonOf(text)?.keys
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

function privateKeyOf(text: string): KeyObject | null {
  const key = jsonOf(text)
  try {
    return key ? createPrivateKey({ key, format: 'jwk' }) : createPrivateKey(text)
  } catch {
    return null
  }
}

/** 32 bytes in base64url. */
const X = /^[\w-]{43}$/

/** A private key is none: what is published must not be a slip away from the secret. */
export function isPublicKey(value: unknown): value is PublicSigningKey {
  if (typeof value !== 'object' || value === null) return false
  const { kty, crv, x = '', ...more } = value as Partial<PublicSigningKey>
  return kty === 'OKP' && crv === 'Ed25519' && X.test(x) && !('d' in more)
}

function jsonOf(text: string): Record<string, unknown> | null {
  try {
    const value = JSON.parse(text)
    return typeof value === 'object' ? value : null
  } catch {
    return null
  }
}
