import { createHash } from 'node:crypto'
import { createOpenapiDocument } from '@signalbox/contract/openapi-document.ts'
import { BASE_PATH } from '@signalbox/contract/operations.ts'
import { formatDocument } from '@signalbox/contract/print-openapi.ts'
import { type SigningKey, signOpenapi } from '@signalbox/contract/signing-key.ts'
import { DAY_MILLISECONDS } from '../../runtime/util/time.ts'

/**
 * Builds the signed contract of this installation, with its own address in `servers`. Built once
 * per origin, which is only known when the port is.
 */
export function createSignedContract(key: SigningKey): (origin: string) => Promise<TextWithEtag> {
  let cached: { origin: string; contract: Promise<TextWithEtag> } | null = null
  return origin => {
    if (cached?.origin !== origin) cached = { origin, contract: signContract(origin, key) }
    return cached.contract
  }
}

async function signContract(origin: string, key: SigningKey): Promise<TextWithEtag> {
  const document = await signOpenapi(createOpenapiDocument(`${origin}${BASE_PATH}`), key)
  return withEtag(formatDocument(document))
}

/** Public, cacheable and readable by any page. */
export const PUBLIC_HEADERS = {
  'cache-control': 'public, max-age=300',
  'access-control-allow-origin': '*',
  'access-control-expose-headers': 'ETag, Request-Id',
  'cross-origin-resource-policy': 'cross-origin',
} as const

/** RFC 9116 recommends less than a year. */
const VALID_DAYS = 180

interface SecurityTxtInput {
  contact: string
  origin: string
  at: Date
}

/**
 * `security.txt` (RFC 9116): where to report a vulnerability. It expires a fixed time after the day
 * on which it is read, because the operator keeps the setting current.
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

export interface TextWithEtag {
  text: string
  /** A strong entity tag (RFC 9110, section 8.8.3). */
  etag: string
}

export function withEtag(text: string): TextWithEtag {
  return { text, etag: `"${createHash('sha256').update(text).digest('base64url')}"` }
}

/** An entity tag, weak or strong; RFC 9110, section 8.8.3. */
const ENTITY_TAG = /(?:W\/)?("[\x21\x23-\x7e\x80-\xff]*")/g

/**
 * True when `If-None-Match` (RFC 9110, section 13.1.2) names these bytes: `*`, or a list, in which
 * weak tags count too. Malformed entries match nothing.
 */
export function isEtagMatch(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false
  if (ifNoneMatch.trim() === '*') return true
  return [...ifNoneMatch.matchAll(ENTITY_TAG)].some(([, tag]) => tag === etag)
}
