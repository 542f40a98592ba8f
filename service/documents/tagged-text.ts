import { createHash } from 'node:crypto'

/** A text that is the same until it changes, with the name of its bytes. */
export interface TaggedText {
  text: string
  /** A strong entity tag (RFC 9110, section 8.8.3): other bytes have another one. */
  etag: string
}

export function taggedText(text: string): TaggedText {
  return { text, etag: `"${createHash('sha256').update(text).digest('base64url')}"` }
}

/** An entity tag, weak or strong; RFC 9110, section 8.8.3. */
const ENTITY_TAG = /(?:W\/)?("[\x21\x23-\x7e\x80-\xff]*")/g

/**
 * Whether the caller has these bytes already, by its `If-None-Match` (RFC 9110, section 13.1.2):
 * `*`, or a list in which weak tags count too. What cannot be read names nothing.
 */
export function isHeldBy(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false
  if (ifNoneMatch.trim() === '*') return true
  return [...ifNoneMatch.matchAll(ENTITY_TAG)].some(([, tag]) => tag === etag)
}
