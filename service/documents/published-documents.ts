import { createHash } from 'node:crypto'
import { createOpenapiDocument } from '@signalbox/contract/openapi-document.ts'
import { BASE_PATH } from '@signalbox/contract/operations.ts'
import { formatDocument } from '@signalbox/contract/print-openapi.ts'
import { type SigningKey, signOpenapi } from '@signalbox/contract/signing-key.ts'

/**
 * The contract as this installation serves it: with its own address in `servers`, so that tools
 * call it, and signed. It is made once; the origin is known only when the port is.
 */
export function createSignedContract(key: SigningKey): (origin: string) => Promise<TextWithEtag> {
  let made: { origin: string; contract: Promise<TextWithEtag> } | null = null
  return origin => {
    if (made?.origin !== origin) made = { origin, contract: signContract(origin, key) }
    return made.contract
  }
}

async function signContract(origin: string, key: SigningKey): Promise<TextWithEtag> {
  const document = await signOpenapi(createOpenapiDocument(`${origin}${BASE_PATH}`), key)
  return withEtag(formatDocument(document))
}

/** RFC 9116 advises less than a year: after that, nobody should believe the page. */
const VALID_DAYS = 180
const DAY_MILLISECONDS = 86_400_000

interface SecurityTxtInput {
  contact: string
  origin: string
  at: Date
}

/**
 * `security.txt` (RFC 9116): where a hole in this installation is reported. It expires a fixed time
 * after the day on which it is read, because whoever runs the service answers for the setting.
 */
export function formatSecurityTxt({ contact, origin, at }: SecurityTxtInput): string {
  const day = Math.floor(at.getTime() / DAY_MILLISECONDS)
  const expires = new Date((day + VALID_DAYS) * DAY_MILLISECONDS)
  return [
    `Contact: ${contact}`,
    `Expires: ${expires.toISOString()}`,
    `Canonical: ${origin}/.well-known/security.txt`,
    '',
  ].join('\n')
}

/** A text that is the same until it changes, with the name of its bytes. */
export interface TextWithEtag {
  text: string
  /** A strong entity tag (RFC 9110, section 8.8.3): other bytes have another one. */
  etag: string
}

export function withEtag(text: string): TextWithEtag {
  return { text, etag: `"${createHash('sha256').update(text).digest('base64url')}"` }
}

/** An entity tag, weak or strong; RFC 9110, section 8.8.3. */
const ENTITY_TAG = /(?:W\/)?("[\x21\x23-\x7e\x80-\xff]*")/g

/**
 * Whether the caller has these bytes already, by its `If-None-Match` (RFC 9110, section 13.1.2):
 * `*`, or a list in which weak tags count too. What cannot be read names nothing.
 */
export function isEtagMatch(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false
  if (ifNoneMatch.trim() === '*') return true
  return [...ifNoneMatch.matchAll(ENTITY_TAG)].some(([, tag]) => tag === etag)
}
