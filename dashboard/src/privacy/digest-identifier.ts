import {
  isPlaceholder,
  normalizeEmail,
  normalizeIdentifier,
  normalizeText,
  parseSuppliedDigest,
} from '@signalbox/service/signals/identity/identifier-formats.ts'

export type IdentifierType = 'email' | 'phone' | 'external_id'

export interface TypedIdentifier {
  type: IdentifierType
  text: string
  /** ISO 3166-1, two letters; gives a national phone number its country code. */
  country: string
}

/** The digest of an identifier, or one sentence that says what is wrong with it. */
export type IdentifierDigest =
  | { digest: string; normalized: string | null; problem: null }
  | { digest: null; problem: string }

/** Longer than any real identifier; the service drops longer ones from events as well. */
const CHARACTERS_MAX = 512

/**
 * Computes the digest of an identifier as the service does for events, in this browser: the
 * identifier itself is not sent. A SHA-256 that was computed elsewhere is taken as it is.
 */
export async function digestIdentifier(typed: TypedIdentifier): Promise<IdentifierDigest> {
  const supplied = parseSuppliedDigest(typed.text)
  if (supplied !== null) return { digest: supplied, normalized: null, problem: null }
  const normalized = typed.text.length > CHARACTERS_MAX ? null : await normalize(typed)
  if (normalized === null) return { digest: null, problem: PROBLEMS[typed.type] }
  // Browsers have WebCrypto on HTTPS and on this machine only.
  if (globalThis.crypto?.subtle === undefined) return { digest: null, problem: NEEDS_HTTPS }
  return { digest: await sha256(normalized), normalized, problem: null }
}

/** The exact text that is digested; null when events with this text would not have the digest. */
async function normalize({ type, text, country }: TypedIdentifier): Promise<string | null> {
  switch (type) {
    case 'email':
      return normalizeEmail(normalizeIdentifier(text))
    case 'phone': {
      // In a chunk of its own: it holds the numbering plans of all countries.
      const { normalizePhone } = await import(
        '@signalbox/service/signals/identity/normalize-phone.ts'
      )
      const isCountry = /^[a-z]{2}$/i.test(country.trim())
      return normalizePhone(
        normalizeIdentifier(text),
        isCountry ? country.trim().toLowerCase() : null,
      )
    }
    case 'external_id': {
      const prepared = normalizeText(text)
      return prepared === '' || isPlaceholder(prepared) ? null : prepared
    }
  }
}

const PROBLEMS: Record<IdentifierType, string> = {
  email: 'Enter one email address, such as jane@example.com.',
  phone: 'Enter the whole number with its country code, such as +49 30 901820, or the country.',
  external_id: 'Enter your own ID of the person.',
}
const NEEDS_HTTPS =
  'Browsers compute digests on HTTPS only: open the dashboard over HTTPS, or paste a SHA-256.'

async function sha256(text: string): Promise<string> {
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text))
  return [...new Uint8Array(digest)].map(byte => byte.toString(16).padStart(2, '0')).join('')
}
