import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { SANDBOX_SCOPE } from '@signalbox/contract/sandbox.ts'
import { TOKEN_MARKS } from '../access/token-format.ts'
import { derivedKey } from '../http/derived-key.ts'

/** How long a sandbox key works (decisions, section 9). */
export const SANDBOX_KEY_SECONDS = 900

const DERIVED_FOR = 'signalbox sandbox keys v1'
const ID_BYTES = 16
/** Ours have some 160 characters; what is longer is not looked at. */
const TOKEN_CHARACTERS_MAX = 256
const TOKEN = new RegExp(`^(${TOKEN_MARKS.sandbox}[A-Za-z0-9_-]+)\\.([A-Za-z0-9_-]+)$`)

/** What a key says, signed. Whoever holds it may read it. */
interface Claims {
  id: string
  scope: string
  /** Unix milliseconds. */
  expiresAt: number
}

export interface SandboxKeys {
  issue(at: Date): { token: string; expiresAt: Date }
  /** Whether the token is one of ours, unchanged and not yet expired. Never throws. */
  isValid(token: string, at: Date): boolean
}

/**
 * Sandbox keys are their own record: mark, claims and HMAC-SHA256 of both, so that nothing is
 * stored and every process with the same `secret` takes them. The signing key is derived from the
 * secret (HKDF, RFC 5869), which may be used for other things.
 */
export function sandboxKeys(secret: Buffer): SandboxKeys {
  const signingKey = derivedKey(secret, DERIVED_FOR)
  const signatureOf = (text: string) =>
    createHmac('sha256', signingKey).update(text).digest('base64url')

  return {
    issue(at) {
      const expiresAt = new Date(at.getTime() + SANDBOX_KEY_SECONDS * 1_000)
      const id = randomBytes(ID_BYTES).toString('base64url')
      const claims: Claims = { id, scope: SANDBOX_SCOPE, expiresAt: expiresAt.getTime() }
      const signed = TOKEN_MARKS.sandbox + Buffer.from(JSON.stringify(claims)).toString('base64url')
      return { token: `${signed}.${signatureOf(signed)}`, expiresAt }
    },
    isValid(token, at) {
      if (token.length > TOKEN_CHARACTERS_MAX) return false
      const [, signed, signature] = TOKEN.exec(token) ?? []
      if (signed === undefined || signature === undefined) return false
      if (!isSame(signature, signatureOf(signed))) return false
      const { scope, expiresAt } = claimsOf(signed)
      return scope === SANDBOX_SCOPE && expiresAt > at.getTime()
    },
  }
}

/** As text: the last character of base64url may change without changing the bytes. */
function isSame(given: string, right: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(right)]
  return a.length === b.length && timingSafeEqual(a, b)
}

/** Only of what bears our signature, so it has the form that we gave it. */
function claimsOf(signed: string): Claims {
  const text = Buffer.from(signed.slice(TOKEN_MARKS.sandbox.length), 'base64url').toString('utf8')
  return JSON.parse(text) as Claims
}
