import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { SANDBOX_SCOPE, type SandboxKey } from '@signalbox/contract/sandbox.ts'
import { validateSandboxEvent } from '@signalbox/contract/sandbox-operations.ts'
import { deriveKey } from '../../runtime/util/derive-key.ts'
import { TOKEN_PREFIXES } from '../../runtime/util/token-format.ts'

const SANDBOX_KEY_SECONDS = 900

const KEY_DERIVATION_LABEL = 'signalbox sandbox keys v1'
const ID_BYTES = 16
/** Sandbox keys have about 160 characters. Longer tokens are rejected unread. */
const TOKEN_CHARACTERS_MAX = 256
const TOKEN = new RegExp(`^(${TOKEN_PREFIXES.sandbox}[A-Za-z0-9_-]+)\\.([A-Za-z0-9_-]+)$`)

/** Signed, but readable by its holder. */
interface SandboxKeyClaims {
  id: string
  scope: string
  /** Unix milliseconds. */
  expiresAt: number
}

export interface SandboxKeys {
  issue(at: Date): { token: string; expiresAt: Date }
  /** Whether the token has a valid signature and is not expired. Never throws. */
  isValid(token: string, at: Date): boolean
}

/**
 * Sandbox keys are stateless: prefix, claims, and an HMAC-SHA256 of both. Every process with the
 * same `secret` accepts them. The signing key is derived from the secret (HKDF, RFC 5869), which
 * may have other uses.
 */
export function createSandboxKeys(secret: Buffer): SandboxKeys {
  const signingKey = deriveKey(secret, KEY_DERIVATION_LABEL)
  const signatureOf = (text: string) =>
    createHmac('sha256', signingKey).update(text).digest('base64url')

  return {
    issue(at) {
      const expiresAt = new Date(at.getTime() + SANDBOX_KEY_SECONDS * 1_000)
      const id = randomBytes(ID_BYTES).toString('base64url')
      const claims: SandboxKeyClaims = { id, scope: SANDBOX_SCOPE, expiresAt: expiresAt.getTime() }
      const signed =
        TOKEN_PREFIXES.sandbox + Buffer.from(JSON.stringify(claims)).toString('base64url')
      return { token: `${signed}.${signatureOf(signed)}`, expiresAt }
    },
    isValid(token, at) {
      if (token.length > TOKEN_CHARACTERS_MAX) return false
      const [, signed, signature] = TOKEN.exec(token) ?? []
      if (signed === undefined || signature === undefined) return false
      if (!isEqualConstantTime(signature, signatureOf(signed))) return false
      const { scope, expiresAt } = decodeClaims(signed)
      return scope === SANDBOX_SCOPE && expiresAt > at.getTime()
    },
  }
}

/** Compares text: the last base64url character may change without changing the bytes. */
function isEqualConstantTime(given: string, expected: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(expected)]
  return a.length === b.length && timingSafeEqual(a, b)
}

/** Requires a verified signature, which guarantees the format. */
function decodeClaims(signed: string): SandboxKeyClaims {
  const text = Buffer.from(signed.slice(TOKEN_PREFIXES.sandbox.length), 'base64url').toString(
    'utf8',
  )
  return JSON.parse(text) as SandboxKeyClaims
}

interface KeyIssueInput {
  at: Date
  /** The public origin with the base path. */
  baseUrl: string
}

/** Issues a sandbox key with instructions. */
export function issueSandboxKey(keys: SandboxKeys, { at, baseUrl }: KeyIssueInput): SandboxKey {
  const { token, expiresAt } = keys.issue(at)
  return {
    api_key: token,
    token_type: 'Bearer',
    expires_in: SANDBOX_KEY_SECONDS,
    expires_at: expiresAt.toISOString(),
    scope: SANDBOX_SCOPE,
    production_access: false,
    use: {
      method: validateSandboxEvent.method,
      url: baseUrl + validateSandboxEvent.url,
      authorization: `Bearer ${token}`,
    },
  }
}
