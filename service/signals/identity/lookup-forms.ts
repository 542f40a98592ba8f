import {
  normalizeCallerId,
  normalizeEmail,
  normalizeIdentifier,
  normalizeText,
  normalizeVisible,
  prepareCallerId,
} from './identifier-formats.ts'
import { normalizePhone } from './normalize-phone.ts'

/*
 * The dashboard uses these rules too: nothing here may import a module of Node.
 */

/** The identifiers by which a deletion request, a suppression or a withdrawal names a person. */
export const LOOKUP_KEYS = ['em', 'ph', 'external_id'] as const
export type LookupKey = (typeof LOOKUP_KEYS)[number]

interface LookupContext {
  /** ISO 3166-1 in lower case. Gives a national phone number its country code. */
  country: string | null
  /** Earlier versions read the number as if no country were given. */
  isNewlyRead?: true
}

/**
 * The texts whose digests find a person by this identifier, without repeats: the normal form first,
 * then forms that other senders digest. Empty when the value identifies no one. Every form is of
 * the same value, so a person who is erased under one is erased under all.
 */
export function listLookupForms(key: LookupKey, text: string, context: LookupContext): string[] {
  const distinct: string[] = []
  for (const form of LIST_FORMS[key](text, context)) {
    if (form !== null && !distinct.includes(form)) distinct.push(form)
  }
  return distinct
}

/**
 * A normal form, its companions, and the normal forms of earlier versions: they had invisible
 * characters, and the white space inside an ID. Null where there is none.
 */
const LIST_FORMS: Record<
  LookupKey,
  (text: string, context: LookupContext) => readonly (string | null)[]
> = {
  em: text => {
    const email = normalizeEmail(normalizeIdentifier(text))
    if (email === null) return []
    const visible = normalizeVisible(text)
    return [email, removeGmailDots(email), visible === email ? null : normalizeEmail(visible)]
  },
  ph: (text, { country, isNewlyRead }) => {
    const prepared = normalizeIdentifier(text)
    const digits = normalizePhone(prepared, country)
    if (digits === null) return []
    // Google and X digest the number with its + (E.164), Meta without.
    return [digits, `+${digits}`, isNewlyRead ? normalizePhone(prepared, null) : null]
  },
  external_id: text => listCallerIdForms(text),
}

/** The forms of an ID of the caller: as `external_id` today, and as versions before digested it. */
export function listCallerIdForms(text: string): string[] {
  const id = normalizeCallerId(prepareCallerId(text))
  if (id === null) return []
  const earlier = normalizeText(text)
  return earlier === id ? [id] : [id, earlier]
}

/** Google digests addresses of these two domains without the dots of the local part. */
const GMAIL = /^(.+)(@(?:gmail|googlemail)\.com)$/

function removeGmailDots(email: string): string | null {
  if (!email.endsWith('mail.com')) return null
  const [, local, domain] = GMAIL.exec(email) ?? []
  const bare = local?.replaceAll('.', '')
  return bare ? `${bare}${domain}` : null
}
