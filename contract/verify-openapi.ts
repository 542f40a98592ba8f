import { base64url, compactVerify, errors } from 'jose'
import { canonicalJson } from './canonical-json.ts'
import { isPublicKey, type PublicSigningKey } from './signing-key.ts'

type Json = Record<string, unknown>

export interface VerifiedDocument {
  /** The signed document. Use this and not the text that it was parsed from. */
  document: Json
  /** The `kid` of the key that signed it. */
  keyId: string
  /** An installation generated this key: trust it only as far as that installation. */
  isDevelopmentKey: boolean
}

/** The document must not be used; the message is one sentence with the reason. */
export class SignatureError extends Error {
  override name = 'SignatureError'
}

/**
 * Verifies a signed OpenAPI document before clients are generated from it. `jwksText` is a trusted
 * JWK set (RFC 7517). Throws a SignatureError when the document is unsigned, changed, or signed in
 * any other way.
 */
export async function verifySignedDocument(
  text: string,
  jwksText: string,
): Promise<VerifiedDocument> {
  const document = jsonObject(text, 'The document')
  if (hasRepeatedMember(text, document)) {
    throw new SignatureError('The document repeats a member, which parsers may read differently.')
  }
  const { 'x-signature': jws, ...signed } = document
  if (signed['x-signed'] !== true || typeof jws !== 'string') {
    throw new SignatureError('The document is not signed: it needs x-signed and x-signature.')
  }
  const { header, keyId, signature } = parseDetachedJws(jws)
  const key = findPublicKey(jsonObject(jwksText, 'The key set'), keyId)
  await requireSignature(`${header}.${signedPayload(signed)}.${signature}`, key)
  const isDevelopmentKey = [signed, key].some(marked => marked['x-signing-key'] !== undefined)
  return { document, keyId, isDevelopmentKey }
}

/** RFC 7515, appendix F: header and signature (64 bytes), and nothing between them. */
const DETACHED = /^(?<header>[\w-]+)\.\.(?<signature>[\w-]{86})$/

/**
 * Accepts only what `signOpenapi` writes, and no header with its own key, an unencoded payload
 * (`b64`, RFC 7797) or another algorithm.
 */
function parseDetachedJws(jws: string) {
  const { header = '', signature = '' } = DETACHED.exec(jws)?.groups ?? {}
  const { alg, kid, ...more } = headerMembers(header)
  const hasOurHeader = alg === 'EdDSA' && typeof kid === 'string' && Object.keys(more).length === 0
  if (hasOurHeader && decodeBase64url(signature) !== null) return { header, keyId: kid, signature }
  throw new SignatureError(
    'x-signature is not a detached JWS with an EdDSA signature and a header of alg and kid.',
  )
}

function headerMembers(header: string): Json {
  try {
    return { ...JSON.parse(decodeBase64url(header) ?? '') }
  } catch {
    return {}
  }
}

/** Null unless the text is canonical base64url: each signature has exactly one text. */
function decodeBase64url(encoded: string): string | null {
  const bytes = Buffer.from(encoded, 'base64url')
  return bytes.toString('base64url') === encoded ? bytes.toString() : null
}

function findPublicKey(set: Json, keyId: string): PublicSigningKey {
  const keys: unknown[] = Array.isArray(set.keys) ? set.keys : []
  const [key, ...more] = keys.filter(isPublicKey).filter(({ kid }) => kid === keyId)
  if (key && more.length === 0) return key
  throw new SignatureError(
    `The key set does not contain the Ed25519 key ${keyId} of the document exactly once.`,
  )
}

function signedPayload(signed: Json): string {
  try {
    return base64url.encode(canonicalJson(signed))
  } catch (cause) {
    throw new SignatureError('The document contains a lone surrogate, which cannot be signed.', {
      cause,
    })
  }
}

async function requireSignature(jws: string, key: PublicSigningKey): Promise<void> {
  try {
    const { kty, crv, x } = key
    await compactVerify(jws, { kty, crv, x }, { algorithms: ['EdDSA'] })
  } catch (cause) {
    if (!(cause instanceof errors.JOSEError)) throw cause
    throw new SignatureError('The document was changed after it was signed.', { cause })
  }
}

function jsonObject(text: string, what: string): Json {
  try {
    const value = JSON.parse(text)
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value
  } catch {}
  throw new SignatureError(`${what} is not a JSON object.`)
}

/** Outside strings, JSON has one colon per member. */
function hasRepeatedMember(text: string, value: Json): boolean {
  const colons = text.replaceAll(/"(?:[^"\\]|\\.)*"/g, '').split(':').length - 1
  return colons !== countMembers(value)
}

function countMembers(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  const inside = Object.values(value).reduce((sum: number, member) => sum + countMembers(member), 0)
  return inside + (Array.isArray(value) ? 0 : Object.keys(value).length)
}
