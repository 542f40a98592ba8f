import { CLICK_ID_SOURCES, type ClickIdForm } from '@signalbox/contract/click-ids.ts'
import { DAY_MILLISECONDS } from '../../runtime/util/time.ts'
import {
  DROP_REASONS,
  type DroppedField,
  type DropReason,
  formatMemberPath,
  MEMBERS_MAX,
  recordDropped,
} from './dropped-fields.ts'
import { containsEmail, decodeText, isInternationalPhone } from './identifier-formats.ts'

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
    const rule = CLICK_ID_RULES.get(member.toLowerCase().replace(/^_{1,2}/, ''))
    const text = typeof value === 'string' ? value.trim() : null
    if (rule === undefined) recordDropped(dropped, path, DROP_REASONS.unknown)
    else if (text === null) recordDropped(dropped, path, DROP_REASONS.wrongKind)
    else if (!FORMS[rule.form].accepts(text)) recordDropped(dropped, path, FORMS[rule.form].reason)
    else accepted[rule.name] ??= text
  }
  if (members.length > MEMBERS_MAX) recordDropped(dropped, 'click_ids', DROP_REASONS.tooManyMembers)
  return selected
}

/** What an event says of clicks. */
interface ClickSubmission {
  click_ids?: unknown
  event_source?: string | undefined
}

/** The click IDs that may be kept, and the URL of the page without those that may not. */
interface CollectedClickIds extends SelectedClickIds {
  eventSource: string | undefined
}

/**
 * Collects the click IDs of an event, those of platforms without a destination too: an ID that the
 * caller names wins over one in the URL of the page, and there the first of its name counts. What a
 * refused vendor left is in no result.
 */
export function collectClickIds(
  { click_ids, event_source }: ClickSubmission,
  refusedVendors: ReadonlySet<string> = NO_VENDORS,
): CollectedClickIds {
  const { clickIds, dropped } = selectClickIds(click_ids)
  for (const { name, vendor } of refusedVendors.size === 0 ? [] : CLICK_ID_SOURCES) {
    if (!refusedVendors.has(vendor) || !Object.hasOwn(clickIds, name)) continue
    delete clickIds[name]
    recordDropped(dropped, `click_ids.${name}`, DROP_REASONS.refusedClick)
  }
  const url = splitUrl(event_source ?? '')
  if (url.query === '') return { clickIds, dropped, eventSource: event_source }
  const kept: string[] = []
  const parts = url.query.split('&')
  for (const part of parts) {
    const rule = findParameterRule(part)
    const isRefused = rule !== undefined && refusedVendors.has(rule.vendor)
    if (rule !== undefined && !isRefused) addParameter(clickIds, rule, part)
    if (!isRefused) kept.push(part)
  }
  if (kept.length === parts.length) return { clickIds, dropped, eventSource: event_source }
  recordDropped(dropped, 'event_source', DROP_REASONS.refusedClick)
  const query = kept.length > 0 ? `?${kept.join('&')}` : ''
  return { clickIds, dropped, eventSource: `${url.page}${query}${url.fragment}` }
}

const NO_VENDORS: ReadonlySet<string> = new Set()
const PARAMETER_CHARACTERS_MAX = 2_048

function splitUrl(text: string) {
  const [, page = '', query = '', fragment = ''] = /^([^?#]*)\??([^#]*)(.*)$/s.exec(text) ?? []
  return { page, query, fragment }
}

function findParameterRule(part: string): ClickIdRule | undefined {
  const equals = part.indexOf('=')
  if (equals < 1 || equals > NAME_CHARACTERS_MAX) return undefined
  return PARAMETER_RULES.get(part.slice(0, equals).toLowerCase())
}

function addParameter(clickIds: Record<string, string>, rule: ClickIdRule, part: string): void {
  if (Object.hasOwn(clickIds, rule.name) || part.length > PARAMETER_CHARACTERS_MAX) return
  const value = [...new URLSearchParams(part).values()][0]?.trim() ?? ''
  if (FORMS[rule.form].accepts(value)) clickIds[rule.name] = value
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

/** The names of the click IDs and browser IDs that a vendor leaves; of every vendor without one. */
export function listClickIdNames(vendors?: ReadonlySet<string>): string[] {
  const own = CLICK_ID_SOURCES.filter(({ vendor }) => vendors === undefined || vendors.has(vendor))
  return own.map(({ name }) => name)
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
  vendor: string
  form: ClickIdForm
}

/** Without @ and +, so that neither an email address nor a written phone number gets through. */
const CLICK_ID = /^[\w.~%=:|-]{1,512}$/

function isClickId(text: string): boolean {
  return CLICK_ID.test(text) && !hasEncodedIdentifier(text)
}

function hasEncodedIdentifier(text: string): boolean {
  if (!text.includes('%')) return false
  const decoded = decodeText(text)
  return decoded.includes('@') || isInternationalPhone(decoded)
}

/** Google's cookies with a click ID and its time: `GCL.1700000000.abc`, `2.1.kabc$i1700000000`. */
const GOOGLE_COOKIE = /^[\w.$-]{1,512}$/

/** What Google's script knows of a visit. */
const VISIT = /^[\w-]{1,4000}={0,2}$/
const CAMPAIGN = /^[\w.~-]{1,100}$/

/** A visit names the pages that led to it, which may name the visitor. */
function isVisit(text: string): boolean {
  if (!VISIT.test(text)) return false
  return !containsEmail(decodeText(Buffer.from(text, 'base64url').toString('utf8')))
}

const FORMS: Record<ClickIdForm, { accepts: (text: string) => boolean; reason: DropReason }> = {
  fbclid: { accepts: isFbclid, reason: DROP_REASONS.clickId },
  fbc: { accepts: text => extractFbclid(text) !== null, reason: DROP_REASONS.fbc },
  fbp: { accepts: isFbp, reason: DROP_REASONS.fbp },
  opaque: { accepts: isClickId, reason: DROP_REASONS.clickId },
  google_cookie: { accepts: text => GOOGLE_COOKIE.test(text), reason: DROP_REASONS.clickId },
  visit: { accepts: isVisit, reason: DROP_REASONS.clickId },
  campaign: { accepts: text => CAMPAIGN.test(text), reason: DROP_REASONS.clickId },
}

const CLICK_ID_RULES: ReadonlyMap<string, ClickIdRule> = new Map(
  CLICK_ID_SOURCES.map(rule => [rule.name.toLowerCase(), rule]),
)

const PARAMETER_RULES: ReadonlyMap<string, ClickIdRule> = new Map(
  CLICK_ID_SOURCES.filter(({ isParameter }) => isParameter).map(rule => [
    rule.name.toLowerCase(),
    rule,
  ]),
)
const NAME_CHARACTERS_MAX = 40

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
