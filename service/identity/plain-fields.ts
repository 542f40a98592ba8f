import { extractFbclid, isFbp } from './click-ids.ts'
import { DROP_REASONS, type DropReason } from './dropped-fields.ts'
import { parsePublicAddress } from './public-address.ts'
import type { PlainKey } from './user-data-keys.ts'

const USER_AGENT_CHARACTERS_MAX = 1_024
const USER_AGENT_INPUT_CHARACTERS_MAX = 8_192

export interface PlainFieldRule {
  /** Turns the caller's text into what is kept, or null when it cannot be right. */
  normalize: (text: string) => string | null
  reason: DropReason
  /** Numeric ids also come as JSON numbers; an address or a user agent never does. */
  acceptsNumbers?: true
}

const OPAQUE: PlainFieldRule = {
  normalize: acceptPattern(/^[\w.:~=-]{1,256}$/),
  reason: DROP_REASONS.opaque,
  acceptsNumbers: true,
}

/** 64-bit numbers of Meta: text all the way, since JavaScript would round them. */
const DIGITS: PlainFieldRule = {
  normalize: acceptPattern(/^\d{1,20}$/),
  reason: DROP_REASONS.digits,
  acceptsNumbers: true,
}

/**
 * What may travel unhashed (Customer Information Parameters, "do not hash"), one rule a field.
 * All of it belongs in the payload that expires.
 */
export const PLAIN_FIELD_RULES: Record<PlainKey, PlainFieldRule> = {
  client_ip_address: { normalize: parsePublicAddress, reason: DROP_REASONS.address },
  client_user_agent: { normalize: cleanUserAgent, reason: DROP_REASONS.empty },
  fbc: { normalize: acceptWhen(text => extractFbclid(text) !== null), reason: DROP_REASONS.fbc },
  fbp: { normalize: acceptWhen(isFbp), reason: DROP_REASONS.fbp },
  subscription_id: OPAQUE,
  fb_login_id: DIGITS,
  lead_id: DIGITS,
  anon_id: OPAQUE,
  madid: OPAQUE,
  page_id: DIGITS,
  page_scoped_user_id: DIGITS,
  ctwa_clid: OPAQUE,
  ig_account_id: DIGITS,
  ig_sid: OPAQUE,
}

function acceptWhen(holds: (text: string) => boolean): PlainFieldRule['normalize'] {
  return text => {
    const trimmed = text.trim()
    return holds(trimmed) ? trimmed : null
  }
}

function acceptPattern(pattern: RegExp): PlainFieldRule['normalize'] {
  return acceptWhen(text => pattern.test(text))
}

/** Verbatim but for what a database or a header cannot carry: controls and broken surrogates. */
function cleanUserAgent(text: string): string | null {
  const readable = text
    .slice(0, USER_AGENT_INPUT_CHARACTERS_MAX)
    .replace(/\p{Cc}+/gu, '')
    .trim()
  const kept = readable.slice(0, USER_AGENT_CHARACTERS_MAX)
  // The cut may part a surrogate pair; half of one is no text.
  return kept.replace(/\p{Cs}+/gu, '') || null
}
