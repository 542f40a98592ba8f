import { BriefCache } from '../db/brief-cache.ts'
import { Refusal } from '../http/refusal.ts'
import { type TokenKind, tokenDigest, tokenKind } from './token-format.ts'

/** A revoked key is refused at the latest after this long, in every process. */
export const KEY_CACHE = { lifeMilliseconds: 500, entriesMax: 10_000 }

export interface TokenLookup<Identity> {
  find: (digest: Buffer) => Promise<Identity | null>
  onUsed: (digest: Buffer) => void
}

/**
 * Resolves tokens of one kind to whom they speak for. Every other kind of credential, a mistyped
 * one and an unknown one get the same 401 (spec: Authentication, rules 1 and 2).
 */
export function knownTokens<Identity>(
  kind: TokenKind,
  { find, onUsed }: TokenLookup<Identity>,
): (token: string | null) => Promise<Identity> {
  const known = new BriefCache((digest: string) => find(Buffer.from(digest, 'base64')), KEY_CACHE)

  return async token => {
    if (token === null || tokenKind(token) !== kind) throw Refusal.unauthenticated()
    const digest = tokenDigest(token)
    const identity = await known.get(digest.toString('base64'))
    if (!identity) throw Refusal.unauthenticated()
    onUsed(digest)
    return identity
  }
}
