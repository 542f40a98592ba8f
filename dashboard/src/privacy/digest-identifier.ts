import { parseSuppliedDigest } from '@signalbox/service/signals/identity/identifier-formats.ts'

export type IdentifierType = 'email' | 'phone' | 'external_id'

export interface TypedIdentifier {
  type: IdentifierType
  text: string
  /** ISO 3166-1, two letters; gives a national phone number its country code. */
  country: string
}

/** The digests of an identifier, or one sentence that says what is wrong with it. */
export type IdentifierDigest =
  | {
      digest: string
      /** Of other forms of the same identifier: some events may have one of them alone. */
      others: string[]
      normalized: string | null
      problem: null
    }
  | { digest: null; problem: string }

const KEYS = { email: 'em', phone: 'ph', external_id: 'external_id' } as const

/** Longer than any real identifier; the service drops longer ones from events as well. */
const CHARACTERS_MAX = 512

/**
 * Computes the digests of an identifier as the service does for events, in this browser: the
 * identifier itself is not sent. A SHA-256 that was computed elsewhere is taken as it is.
 */
export async function digestIdentifier(typed: TypedIdentifier): Promise<IdentifierDigest> {
  const supplied = parseSuppliedDigest(typed.text)
  if (supplied !== null) return { digest: supplied, others: [], normalized: null, problem: null }
  const forms = typed.text.length > CHARACTERS_MAX ? [] : await listForms(typed)
  const [normalized] = forms
  if (normalized === undefined) return { digest: null, problem: PROBLEMS[typed.type] }
  // Browsers have WebCrypto on HTTPS and on this machine only.
  if (globalThis.crypto?.subtle === undefined) return { digest: null, problem: NEEDS_HTTPS }
  const [digest = '', ...others] = await Promise.all(forms.map(sha256))
  return { digest, others, normalized, problem: null }
}

/** The exact texts that are digested; none when no event with this text would have a digest. */
async function listForms({ type, text, country }: TypedIdentifier): Promise<string[]> {
  // In a chunk of its own: it holds the numbering plans of all countries.
  const { listLookupForms } = await import('@signalbox/service/signals/identity/lookup-forms.ts')
  const isCountry = /^[a-z]{2}$/i.test(country.trim())
  return listLookupForms(KEYS[type], text, {
    country: isCountry ? country.trim().toLowerCase() : null,
  })
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
