import type { Reason } from './dropped.ts'
import { REASONS } from './dropped.ts'
import { fbclidOfFbc, isFbp } from './fbc-and-fbp.ts'
import { publicAddress } from './public-address.ts'
import type { PlainKey } from './user-data-keys.ts'

const userAgentCharsMax = 1_024
const userAgentInputCharsMax = 8_192

export interface PlainRule {
  /** Turns the caller's text into what is kept, or null when it cannot be right. */
  accept: (text: string) => string | null
  reason: Reason
  /** Numeric ids also come as JSON numbers; an address or a user agent never does. */
  takesNumbers?: true
}

const OPAQUE: PlainRule = {
  accept: matching(/^[\w.:~=-]{1,256}$/),
  reason: REASONS.opaque,
  takesNumbers: true,
}

/** 64-bit numbers of Meta: text all the way, since JavaScript would round them. */
const DIGITS: PlainRule = {
  accept: matching(/^\d{1,20}$/),
  reason: REASONS.digits,
  takesNumbers: true,
}

/**
 * What may travel unhashed (Customer Information Parameters, "do not hash"), one rule a field.
 * All of it belongs in the payload that expires.
 */
export const PLAIN_RULES: Record<PlainKey, PlainRule> = {
  client_ip_address: { accept: publicAddress, reason: REASONS.address },
  client_user_agent: { accept: userAgent, reason: REASONS.empty },
  fbc: { accept: whole(text => fbclidOfFbc(text) !== null), reason: REASONS.fbc },
  fbp: { accept: whole(isFbp), reason: REASONS.fbp },
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

function whole(holds: (text: string) => boolean): PlainRule['accept'] {
  return text => {
    const trimmed = text.trim()
    return holds(trimmed) ? trimmed : null
  }
}

function matching(pattern: RegExp): PlainRule['accept'] {
  return whole(text => pattern.test(text))
}

/** Verbatim but for what a database or a header cannot carry: controls and broken surrogates. */
function userAgent(text: string): string | null {
  const readable = text
    .slice(0, userAgentInputCharsMax)
    .replace(/\p{Cc}+/gu, '')
    .trim()
  const kept = readable.slice(0, userAgentCharsMax)
  // The cut may part a surrogate pair; half of one is no text.
  return kept.replace(/\p{Cs}+/gu, '') || null
}
