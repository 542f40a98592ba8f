import { foldMemberName } from './member-name.ts'

/** Members that say where a consent came from, worth keeping for an audit; folded names. */
const PROVENANCE_MEMBERS: ReadonlySet<string> = new Set([
  ...['version', 'method', 'source', 'policyversion', 'bannerversion', 'region'],
])

const LABEL = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/
/** Versions are often named after a day (`privacy-2026-05-04`); one day's digits do not count. */
const CALENDAR_DAY = /(?<!\d)\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])(?!\d)/
/** A phone number has at least 7 digits; so have click ids and most account numbers. */
const DIGITS_MAX = 6
/** Digests, UUIDs and visitor ids are long runs of hex digits once their separators are gone. */
const HEX_ONLY_MAX = 15

/**
 * True when a member is provenance that may be stored: one of the six known names, and a value
 * that looks like a label (`cmp-3.2`, `US-CA`, `2026-05-04`) and not like an identifier. Mail
 * addresses fail on their `@`, IP addresses and phone numbers on their digits.
 */
export function isProvenance(name: string, value: unknown): boolean {
  if (!PROVENANCE_MEMBERS.has(foldMemberName(name))) return false
  if (typeof value === 'number') return Number.isInteger(value) && isShortNumber(value)
  if (typeof value !== 'string' || !LABEL.test(value)) return false
  const digits = value.replace(CALENDAR_DAY, '').replace(/\D/g, '')
  if (digits.length > DIGITS_MAX) return false
  const joined = value.replace(/[._-]/g, '')
  return joined.length <= HEX_ONLY_MAX || !/^[0-9a-f]+$/i.test(joined)
}

function isShortNumber(value: number): boolean {
  return Math.abs(value) < 10 ** DIGITS_MAX
}
