import { DAY_MILLISECONDS } from '../../runtime/util/time.ts'
import {
  DROP_REASONS,
  type DroppedField,
  type DropReason,
  formatMemberPath,
  MEMBERS_MAX,
  recordDropped,
} from './dropped-fields.ts'
import { decodePercentEncoding, isInternationalPhone } from './identifier-formats.ts'

/** Known click IDs by their own spelling, and what was left out of `click_ids`. */
export interface SelectedClickIds {
  clickIds: Record<string, string>
  dropped: DroppedField[]
}

/** Selects the known click IDs of an event's free-form `click_ids` that have the right form. */
export function selectClickIds(submitted: unknown): SelectedClickIds {
  const accepted: Record<string, string> = {}
  const dropped: DroppedField[] = []
  const selected = { clickIds: accepted, dropped }
  if (typeof submitted !== 'object' || submitted === null || Array.isArray(submitted)) {
    return selected
  }
  const members = Object.entries(submitted)
  for (const [member, value] of members.slice(0, MEMBERS_MAX)) {
    if (value === null || value === undefined) continue
    const path = formatMemberPath('click_ids', member)
    const rule = CLICK_ID_RULES.get(member.toLowerCase().replace(/^_/, ''))
    const text = typeof value === 'string' ? value.trim() : null
    if (rule === undefined) recordDropped(dropped, path, DROP_REASONS.unknown)
    else if (text === null) recordDropped(dropped, path, DROP_REASONS.wrongKind)
    else if (!rule.accepts(text)) recordDropped(dropped, path, rule.reason)
    else accepted[rule.name] ??= text
  }
  if (members.length > MEMBERS_MAX) recordDropped(dropped, 'click_ids', DROP_REASONS.tooManyMembers)
  return selected
}

const CLICK_COOKIE = 'fbc'

/** Meta keeps the cookie `_fbc` for 90 days and attributes no click that is older. */
export const CLICK_AGE_MILLISECONDS_MAX = 90 * DAY_MILLISECONDS

/** The click IDs that a visitor's session has seen, by who named them. */
export interface SessionClickIds {
  /** Named with the tracker secret. */
  secretClickIds: Record<string, string>
  /** Named by pages, or stored by a version that did not tell the two apart. */
  clickIds: Record<string, string>
}

/** What a session has seen, the most trusted first: anyone can copy the key of a page. */
export function rankClickIds(session: SessionClickIds | null): Record<string, string>[] {
  return session === null ? [] : [session.secretClickIds, session.clickIds]
}

/** The click IDs of a session by name, the most trusted of each. */
export function listSessionClickIds({
  secretClickIds,
  clickIds,
}: SessionClickIds): Record<string, string> {
  const { fbclid, ...others } = clickIds
  // An fbclid and an fbc are of one click.
  const hasSecretClick = 'fbc' in secretClickIds || 'fbclid' in secretClickIds
  if (hasSecretClick) delete others[CLICK_COOKIE]
  return {
    ...(fbclid !== undefined && !hasSecretClick && { fbclid }),
    ...others,
    ...secretClickIds,
  }
}

/** Whether two values of a click ID name the same click: an fbc also has the time of the click. */
export function isSameClick(name: string, [one, other]: [string, string]): boolean {
  if (name !== CLICK_COOKIE) return one === other
  return (extractFbclid(one) ?? one) === (extractFbclid(other) ?? other)
}

/**
 * The click IDs that pages named for a visitor whose ID others may guess: the first ones stay, so
 * that a page which comes later changes nothing. `isIgnored` tells that it tried.
 */
export function keepFirstClickIds(
  earlier: Record<string, string>,
  later: Record<string, string>,
): { clickIds: Record<string, string>; isIgnored: boolean } {
  const isIgnored = Object.entries(later).some(([name, value]) => {
    const kept = earlier[name]
    return kept !== undefined && !isSameClick(name, [kept, value])
  })
  return { clickIds: { ...later, ...earlier }, isIgnored }
}

/** Whose click ID or browser ID an event is joined to, when a page named another one. */
export type ClickConflict = 'tracker_secret_used' | 'first_page_used'

interface JoinedClickIds {
  /** The click IDs that came with the event: they are used before any of the session. */
  own: Record<string, string>
  session: (SessionClickIds & { pageClickIgnoredAt: Date | null }) | null
  eventTime: Date
}

/** Null when no page named another click ID than the one that is used. */
export function findClickConflict({
  own,
  session,
  eventTime,
}: JoinedClickIds): ClickConflict | null {
  if (session === null) return null
  const { clickIds, pageClickIgnoredAt } = session
  const secret = omitOldClick(session.secretClickIds, eventTime)
  const isJoined = (name: string) => name !== 'fbclid' && !(name in own)
  const isReplaced = Object.entries(clickIds).some(([name, named]) => {
    const used = secret[name]
    return isJoined(name) && used !== undefined && !isSameClick(name, [used, named])
  })
  if (isReplaced) return 'tracker_secret_used'
  if (pageClickIgnoredAt === null || !Object.keys(clickIds).some(isJoined)) return null
  return Object.keys(secret).some(isJoined) ? 'tracker_secret_used' : 'first_page_used'
}

/** Without a click that is too old for an event, so that one of a page is used in its place. */
function omitOldClick(clickIds: Record<string, string>, eventTime: Date): Record<string, string> {
  const { [CLICK_COOKIE]: fbc, ...others } = clickIds
  if (fbc === undefined) return clickIds
  const [, , clickedAt] = fbc.split('.')
  return Number(clickedAt) < Number(eventTime) - CLICK_AGE_MILLISECONDS_MAX ? others : clickIds
}

/**
 * The click IDs of a visitor: later ones replace earlier ones. A click cookie keeps the time at
 * which its click was first seen, and an older click that arrives late does not replace a newer
 * one.
 */
export function mergeClickIds(
  earlier: Record<string, string>,
  later: Record<string, string>,
): Record<string, string> {
  const merged = { ...earlier, ...later }
  const [, , earlierTime = '', earlierClick] = earlier[CLICK_COOKIE]?.split('.') ?? []
  const [, , laterTime = '', laterClick] = later[CLICK_COOKIE]?.split('.') ?? []
  const isKept = earlierClick !== undefined && laterClick !== undefined
  if (isKept && (earlierClick === laterClick || earlierTime > laterTime)) {
    merged[CLICK_COOKIE] = earlier[CLICK_COOKIE] as string
  }
  return merged
}

interface ClickIdRule {
  name: string
  accepts: (text: string) => boolean
  reason: DropReason
}

/** Without @ and +, so that neither an email address nor a written phone number gets through. */
const CLICK_ID = /^[\w.~%=:|-]{1,512}$/

function isClickId(text: string): boolean {
  return CLICK_ID.test(text) && !hasEncodedIdentifier(text)
}

function hasEncodedIdentifier(text: string): boolean {
  if (!text.includes('%')) return false
  const decoded = decodePercentEncoding(text)
  return decoded.includes('@') || isInternationalPhone(decoded)
}

const CLICK_ID_NAMES = `gclid gbraid wbraid dclid ttclid msclkid ScCid li_fat_id twclid epik
  rdt_cid yclid irclickid`

const CLICK_ID_RULES = new Map<string, ClickIdRule>([
  ['fbclid', { name: 'fbclid', accepts: isFbclid, reason: DROP_REASONS.clickId }],
  ['fbc', { name: 'fbc', accepts: text => extractFbclid(text) !== null, reason: DROP_REASONS.fbc }],
  ['fbp', { name: 'fbp', accepts: isFbp, reason: DROP_REASONS.fbp }],
  ...CLICK_ID_NAMES.split(/\s+/).map((name): [string, ClickIdRule] => [
    name.toLowerCase(),
    { name, accepts: isClickId, reason: DROP_REASONS.clickId },
  ]),
])

const FBC = /^fb\.\d\.\d{10,13}\.([\w~%=-]{1,500})(?:\.[\w-]{2,8})?$/
const FBP = /^fb\.\d\.\d{10,13}\.\d{1,20}(?:\.[\w-]{2,8})?$/
const FBCLID = /^[\w~%=-]{1,500}$/

/**
 * Meta's click cookie: `fb.<subdomain index>.<creation time, ms>.<fbclid>`, leniently, with the
 * optional fifth part that Meta's Parameter Builder appends ("ClickID and the fbp and fbc
 * Parameters"). Returns the fbclid inside, its case untouched, or null when it is not an fbc.
 */
export function extractFbclid(text: string): string | null {
  const fbclid = FBC.exec(text)?.[1] ?? null
  return fbclid === null || hasEncodedIdentifier(fbclid) ? null : fbclid
}

/** Meta's browser cookie: `fb.<subdomain index>.<creation time, ms>.<random number>`. */
export function isFbp(text: string): boolean {
  return FBP.test(text)
}

/** A click identifier of Meta as it stands in a landing URL. */
export function isFbclid(text: string): boolean {
  return FBCLID.test(text) && !hasEncodedIdentifier(text)
}
