import { BriefCache } from '../db/brief-cache.ts'
import { Refusal } from '../http/refusal.ts'
import type { UsedKey } from './store.ts'
import { type TokenKind, tokenDigestText, tokenKind } from './token-format.ts'

/** A revoked key is refused at the latest after this long, in every process. */
export const KEY_CACHE = { lifeMilliseconds: 500, entriesMax: 10_000 }

export interface TokenLookup<Identity extends { trackerId: string }> {
  find: (digest: Buffer) => Promise<Identity | null>
  onUsed: (key: UsedKey) => void
}

/**
 * Resolves tokens of one kind to whom they speak for. Every other kind of credential, a mistyped
 * one and an unknown one get the same 401 (spec: Authentication, rules 1 and 2).
 */
export function knownTokens<Identity extends { trackerId: string }>(
  kind: TokenKind,
  { find, onUsed }: TokenLookup<Identity>,
): (token: string | null) => Promise<Identity> {
  const known = new BriefCache(async (text: string) => {
    const digest = Buffer.from(text, 'base64')
    const identity = await find(digest)
    return identity && { identity, digest }
  }, KEY_CACHE)

  return async token => {
    if (token === null) throw Refusal.unauthenticated()
    // By its digest, never by itself: nothing here keeps a credential that could be used.
    const digest = tokenDigestText(token)
    // What was found before has the right form: asking for it again takes 1.3 µs.
    if (!known.has(digest) && tokenKind(token) !== kind) throw Refusal.unauthenticated()
    const found = await known.get(digest)
    if (!found) throw Refusal.unauthenticated()
    onUsed({ trackerId: found.identity.trackerId, digest: found.digest })
    return found.identity
  }
}
