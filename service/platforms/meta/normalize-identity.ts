import { extractFbclid, isFbclid, isFbp } from '../../identity/click-ids.ts'
import { DROP_REASONS, type DroppedField, recordDropped } from '../../identity/dropped-fields.ts'
import {
  isPlaceholder,
  normalizeBirthDate,
  normalizeCountry,
  normalizeEmail,
} from '../../identity/identifier-formats.ts'
import { normalizePhone } from '../../identity/normalize-phone.ts'
import {
  type FieldRules,
  type HashedFieldRule,
  type NormalizedIdentity,
  normalizeUserData,
  type PlainFieldRule,
} from '../../identity/normalize-user-data.ts'
import { parsePublicAddress } from '../../identity/public-address.ts'
import type { HashedKey, PlainKey } from '../../identity/user-data-keys.ts'
import type { AcceptedIdentity, SeenClickIds, SubmittedIdentity } from '../platform.ts'

/** Normalizes and hashes identity by Meta's rules. The result contains no raw identifier. */
export function normalizeMetaIdentity(submitted: SubmittedIdentity): AcceptedIdentity {
  const { digests, plain, dropped } = normalizeMetaUserData(submitted.userData)
  const { clickIds, fbc, fbp, ...cookies } = resolveClickCookies(submitted)
  if (fbc !== null) clickIds.fbc = fbc
  if (fbp !== null) clickIds.fbp = fbp
  return { digests, plain, clickIds, dropped: dropped.concat(cookies.dropped) }
}

export function normalizeMetaUserData(
  userData: Record<string, unknown> | undefined,
): NormalizedIdentity {
  return normalizeUserData(userData, RULES)
}

/**
 * Meta's written rules, one a field (Customer Information Parameters; the `doc_*` members of
 * vectors/meta-hash-vectors.json). Where Meta's libraries differ from its page, the page wins.
 */
export const HASHED_FIELD_RULES: Record<HashedKey, HashedFieldRule> = {
  em: { normalize: normalizeEmail, reason: DROP_REASONS.email },
  ph: { normalize: normalizePhone, reason: DROP_REASONS.phone, acceptsNumbers: true },
  fn: { normalize: normalizeName, reason: DROP_REASONS.name },
  ln: { normalize: normalizeName, reason: DROP_REASONS.name },
  ge: { normalize: normalizeGender, reason: DROP_REASONS.gender },
  db: { normalize: normalizeBirthDate, reason: DROP_REASONS.birthDate },
  ct: { normalize: normalizePlace, reason: DROP_REASONS.place },
  st: { normalize: normalizePlace, reason: DROP_REASONS.place },
  zp: { normalize: normalizePostalCode, reason: DROP_REASONS.postalCode, acceptsNumbers: true },
  country: { normalize: normalizeCountry, reason: DROP_REASONS.country },
  external_id: {
    normalize: normalizeExternalId,
    reason: DROP_REASONS.placeholder,
    acceptsNumbers: true,
    acceptsOtherHashes: true,
  },
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

const RULES: FieldRules = { hashed: HASHED_FIELD_RULES, plain: PLAIN_FIELD_RULES }

function normalizeName(prepared: string): string | null {
  const name = prepared.replace(/[^\p{L}\p{M}\p{N}]+/gu, '')
  return /\p{L}/u.test(name) ? name : null
}

function normalizeGender(prepared: string): string | null {
  const letters = prepared.replace(/[^a-z]+/g, '')
  if (letters === 'f' || letters === 'female') return 'f'
  if (letters === 'm' || letters === 'male') return 'm'
  return null
}

/** Digits go too: a city or state that carries some is followed by a postal code ("TX 75001"). */
function normalizePlace(prepared: string): string | null {
  const place = prepared.replace(/[^\p{L}\p{M}]+/gu, '')
  return /\p{L}/u.test(place) ? place : null
}

/** Only the United States has nine digits, so ZIP+4 is known even when the country is not. */
function normalizePostalCode(prepared: string, country: string | null): string | null {
  const code = prepared.replace(/[^\p{L}\p{N}]+/gu, '')
  if (code.length < 2) return null
  const isUnitedStates = country === 'us' || (country === null && /^\d{9}$/.test(code))
  return isUnitedStates ? code.slice(0, 5) : code
}

function normalizeExternalId(prepared: string): string | null {
  return isPlaceholder(prepared) ? null : prepared
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

const USER_AGENT_CHARACTERS_MAX = 1_024
const USER_AGENT_INPUT_CHARACTERS_MAX = 8_192

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

/** The click IDs of an event with Meta's two cookies, which stand beside the others. */
interface ClickCookies {
  clickIds: Record<string, string>
  fbc: string | null
  fbp: string | null
  /** What was left out of the URL. */
  dropped: DroppedField[]
}

/**
 * Settles the Meta click cookie of one event: an fbc that already holds the current fbclid is kept
 * with its own time, any other fbclid gets a new `fb.1.<observedAt, ms>.<fbclid>`, its case
 * untouched. An fbp is taken over, never invented. A bad candidate costs itself, and the next one
 * is tried.
 */
export function resolveClickCookies(submitted: SubmittedIdentity): ClickCookies {
  const dropped: DroppedField[] = []
  const { userData, eventSource, observedAt } = submitted
  const { fbc, fbp, ...clickIds } = submitted.clickIds
  const fbclid = clickIds.fbclid ?? extractFbclidFromUrl(eventSource, dropped)
  if (fbclid !== null) clickIds.fbclid = fbclid

  const fbcs = [fbc, userData?.fbc, userData?._fbc]
  const fbps = [fbp, userData?.fbp, userData?._fbp]
  return {
    clickIds,
    fbc: resolveFbc(selectTexts(isFbc, fbcs), fbclid, observedAt),
    fbp: selectTexts(isFbp, fbps)[0] ?? null,
    dropped,
  }
}

const URL_CHARACTERS_MAX = 65_536

function extractFbclidFromUrl(
  eventSource: string | undefined,
  dropped: DroppedField[],
): string | null {
  // Most URLs carry no click; looking for the name first spares them the parser.
  if (!eventSource?.includes('fbclid=')) return null
  const fbclid = URL.parse(eventSource.slice(0, URL_CHARACTERS_MAX))?.searchParams.get('fbclid')
  if (!fbclid) return null
  if (isFbclid(fbclid)) return fbclid
  recordDropped(dropped, 'event_source', DROP_REASONS.clickId)
  return null
}

function resolveFbc(fbcs: string[], fbclid: string | null, observedAt: Date): string | null {
  if (fbclid === null) return fbcs[0] ?? null
  return fbcs.find(fbc => extractFbclid(fbc) === fbclid) ?? createFbc(fbclid, observedAt)
}

function isFbc(text: string): boolean {
  return extractFbclid(text) !== null
}

/** Of values and lists of values, the texts that are what they should be, trimmed. */
function selectTexts(holds: (text: string) => boolean, candidates: unknown[]): string[] {
  const texts: string[] = []
  const take = (value: unknown) => {
    if (typeof value !== 'string') return
    const text = value.trim()
    if (holds(text)) texts.push(text)
  }
  for (const candidate of candidates) {
    if (Array.isArray(candidate)) candidate.forEach(take)
    else take(candidate)
  }
  return texts
}

/** Makes the click cookie of a click that has none yet. Index 1: made on a server, no cookie. */
function createFbc(fbclid: string, observedAt: Date): string {
  return `fb.1.${observedAt.getTime()}.${fbclid}`
}

/** The clock that names the time of the event may be so far behind ours, which saw the click. */
const CLOCKS_APART_MILLISECONDS_MAX = 300_000

/** Click and browser ID, the event's own or from an earlier visit of the same person. */
export function joinClickCookies({ own, seen, eventTime }: SeenClickIds): Record<string, string> {
  const fbc = joinFbc(own.fbc, seen.fbc, eventTime)
  const fbp = own.fbp ?? seen.fbp
  return { ...(fbc !== undefined && { fbc }), ...(fbp !== undefined && { fbp }) }
}

/**
 * The click that led to the event. One that the session saw before keeps the time at which it was
 * first seen; one that it saw only after the event led somewhere else.
 */
function joinFbc(
  own: string | undefined,
  seen: string | undefined,
  eventTime: Date,
): string | undefined {
  if (seen === undefined) return own
  if (own !== undefined) {
    return extractFbclid(own) === extractFbclid(seen) ? earlier(own, seen) : own
  }
  return clickedAt(seen) <= Number(eventTime) + CLOCKS_APART_MILLISECONDS_MAX ? seen : undefined
}

function earlier(first: string, second: string): string {
  return clickedAt(second) < clickedAt(first) ? second : first
}

/** The creation time inside an fbc: `fb.<index>.<ms>.<fbclid>`. */
function clickedAt(fbc: string): number {
  return Number(fbc.split('.')[2])
}
