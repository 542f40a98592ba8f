import { CompactSign } from 'jose'
import { canonicalJson } from './canonical-json.ts'
import type { SigningKey } from './signing-key.ts'

type Json = Record<string, unknown>

/**
 * The document with `x-signed: true` and, in `x-signature`, a detached JWS (RFC 7515, appendix F:
 * Ed25519, the payload left out) over the RFC 8785 text of everything else in it. A document that
 * is signed with a development key says so, under the signature.
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
