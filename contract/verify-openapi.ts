import { base64url, compactVerify, errors } from 'jose'
import { canonicalJson } from './canonical-json.ts'
import { isPublicKey, type PublicSigningKey } from './signing-key.ts'

type Json = Record<string, unknown>

export interface VerifiedDocument {
  /** What was signed. Work with this and not with the text that it was read from. */
  document: Json
  /** The `kid` of the key that signed it. */
  keyId: string
  /** An installation made this key for itself: trust it as far as you trust that installation. */
  isDevelopmentKey: boolean
}

/** The document may not be used; the message is one sentence that says why. */
export class SignatureError extends Error {
  override name = 'SignatureError'
}

/**
 * Reads a signed OpenAPI document, for whoever makes clients from it: unsigned, changed, or signed
 * in any way but ours, it is refused. `jwksText` is a JWK set (RFC 7517) that is trusted. Throws a
 * SignatureError.
 */
export async function verifySignedDocument(
  text: string,
  jwksText: string,
): Promise<VerifiedDocument> {
  const document = jsonObject(text, 'The document')
  if (hasRepeatedMember(text, document)) {
    throw new SignatureError('The document names a member twice: readers may disagree about it.')
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
 * Only what `signOpenapi` writes. A header that brings its own key, leaves the encoding of the
 * payload out (`b64`, RFC 7797) or names another algorithm is not looked at any further.
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

/** Null when this is not how base64url writes the bytes: one signature has one text. */
function decodeBase64url(encoded: string): string | null {
  const bytes = Buffer.from(encoded, 'base64url')
  return bytes.toString('base64url') === encoded ? bytes.toString() : null
}

function findPublicKey(set: Json, keyId: string): PublicSigningKey {
  const keys: unknown[] = Array.isArray(set.keys) ? set.keys : []
  const [key, ...more] = keys.filter(isPublicKey).filter(({ kid }) => kid === keyId)
  if (key && more.length === 0) return key
  throw new SignatureError(
    `The key set does not hold the key ${keyId} that signed the document, as Ed25519 and once.`,
  )
}

function signedPayload(signed: Json): string {
  try {
    return base64url.encode(canonicalJson(signed))
  } catch (cause) {
    throw new SignatureError('The document holds half a character, which nothing signs.', { cause })
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

/** Outside of strings, JSON has one colon for each member. */
function hasRepeatedMember(text: string, value: Json): boolean {
  const colons = text.replaceAll(/"(?:[^"\\]|\\.)*"/g, '').split(':').length - 1
  return colons !== countMembers(value)
}

function countMembers(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  const inside = Object.values(value).reduce((sum: number, member) => sum + countMembers(member), 0)
  return inside + (Array.isArray(value) ? 0 : Object.keys(value).length)
}
