import { DROP_REASONS } from '../../identity/dropped-fields.ts'
import type { FieldRules } from '../../identity/field-rules.ts'
import {
  normalizeEmail,
  normalizeIdentifier,
  removeDotsAndTag,
} from '../../identity/identifier-formats.ts'
import { normalizeCountry } from '../../identity/normalize-country.ts'
import {
  COMMON_PLAIN_RULES,
  normalizeUserData,
  OTHER_HASHED_RULES,
  type PlatformIdentity,
  readUserData,
} from '../../identity/normalize-user-data.ts'
import type { AcceptedIdentity, MatchKey, SubmittedIdentity } from '../platform.ts'
import { hasDigestOf } from '../shared-identity.ts'
import { CLICK_ID_NAMES, resolveGoogleClicks } from './click-ids.ts'

/**
 * Normalizes and hashes identity by Google's rules. There is no postal address: Google takes one
 * with its postal code in clear only, and nothing in clear is stored.
 */
export function normalizeGoogleIdentity(submitted: SubmittedIdentity): AcceptedIdentity {
  const { userData } = submitted
  const { digests, plain, dropped } = normalizeUserData(userData, {
    rules: RULES,
    times: submitted,
  })
  const { client_ip_address: address, ...others } = plain
  const isWithheld = address !== undefined && !isKnownElsewhere(submitted)
  const clickIds = resolveGoogleClicks(submitted)
  return { digests, plain: isWithheld ? others : plain, clickIds, dropped }
}

const RULES: FieldRules = {
  hashed: {
    em: { normalize: normalizeGoogleEmail, reason: DROP_REASONS.email },
    // E.164 with its +, which Meta leaves out: the digests of the two never match.
    ph: OTHER_HASHED_RULES.ph,
  },
  plain: COMMON_PLAIN_RULES,
}

const GMAIL = /@(?:gmail|googlemail)\.com$/

/** At Google's own domains, dots and what follows a + are no part of the mailbox. */
export function normalizeGoogleEmail(prepared: string): string | null {
  const address = normalizeEmail(prepared)
  if (address === null || !GMAIL.test(address)) return address
  return removeDotsAndTag(address)
}

/**
 * Where Google matches no addresses of the network and asks senders to leave them out: the European
 * Economic Area, the United Kingdom and Switzerland (device_info.proto), with the territories of
 * their countries that have a code of their own.
 */
const NO_ADDRESS_COUNTRIES = new Set(
  `at be bg cy cz de dk ee es fi fr gr hr hu ie it lt lu lv mt nl pl pt ro se si sk is li no gb ch
  ax bl fo gf gg gi gl gp im je mf mq nc pf pm re sj tf wf yt aw bq cw sx ai bm fk gs io ky ms pn sh
  tc vg`.split(/\s+/),
)

/** Whether the caller names a country of the person, and each one named is outside of them. */
function isKnownElsewhere(submitted: SubmittedIdentity): boolean {
  const { members } = readUserData(submitted.userData, submitted)
  let isNamed = false
  for (const { meaning, values } of members) {
    if (meaning.key !== 'country') continue
    if (!values.every(isElsewhere)) return false
    isNamed ||= values.length > 0
  }
  return isNamed
}

function isElsewhere(value: unknown): boolean {
  const country = typeof value === 'string' ? normalizeCountry(normalizeIdentifier(value)) : null
  return country !== null && !NO_ADDRESS_COUNTRIES.has(country)
}

/** Google refuses an event that names neither a click nor a person. */
export function canMatchPerson(
  { digests, plain }: PlatformIdentity,
  clickIds: Record<string, string>,
): boolean {
  const hasPerson = hasDigestOf({ digests, plain }, ['em', 'ph'])
  return hasPerson || CLICK_ID_NAMES.some(name => Boolean(plain[name] ?? clickIds[name]))
}

/** The identifiers that Google matches, the strongest first. */
export const MATCH_KEYS: readonly MatchKey[] = [
  {
    key: 'gclid',
    from: '`click_ids.gclid`, or the whole address of the page as `event_source`',
    enoughPercent: 20,
  },
  { key: 'em', from: '`user_data.em`', enoughPercent: 80 },
  { key: 'ph', from: '`user_data.ph`', enoughPercent: 50 },
  { key: 'client_user_agent', from: '`user_data.client_user_agent`', enoughPercent: 90 },
]
