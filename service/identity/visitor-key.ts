import { identifierDigest } from './identifier-digest.ts'
import { isInternationalPhone, percentDecoded } from './identifier-shape.ts'
import { normalizePhone } from './normalize-phone.ts'
import { preparedText } from './prepared-text.ts'

/**
 * The visitor id that may be stored. Callers are asked for a pseudonymous id and some send an
 * e-mail address or a phone number instead: a value with an @, or one that is a phone number with
 * +, becomes `sha256:<64 hex>` of its normalised form, the same digest as in `em` or `ph`, so
 * that the visitor stays one visitor and can be found for erasure. Any other id is kept as it is.
 */
export function visitorKey(visitorId: string): string {
  const text = percentDecoded(visitorId)
  if (text.includes('@')) return key(preparedText(text).replace(/^mailto:/, ''))
  if (isInternationalPhone(text)) {
    return key(normalizePhone(text.trim(), null) ?? text.replace(/[^\d]/g, ''))
  }
  return visitorId
}

function key(normalized: string): string {
  return `sha256:${identifierDigest(normalized)}`
}
