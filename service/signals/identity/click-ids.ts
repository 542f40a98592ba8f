import {
  DROP_REASONS,
  type DroppedField,
  type DropReason,
  formatMemberPath,
  MEMBERS_MAX,
  recordDropped,
} from './dropped-fields.ts'
import { containsEmail, decodePercentEncoding, isInternationalPhone } from './identifier-formats.ts'

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

/** Google's cookies with a click ID and its time: `GCL.1700000000.abc`, `2.1.kabc$i1700000000`. */
const CLICK_COOKIE_NAMES = 'gcl_aw gcl_ag gcl_gb FPGCLAW FPGCLAG FPGCLGB'
const CLICK_COOKIE_TEXT = /^[\w.$-]{1,512}$/

/** What Google's script knows of a visit: JSON in Base64url, also as it names its cookie. */
const SESSION_NAMES = 'session_attributes dm_session_attributes'
const SESSION_TEXT = /^[\w-]{1,4000}={0,2}$/

/** A visit names the pages that led to it, which may name the visitor. */
function isSession(text: string): boolean {
  if (!SESSION_TEXT.test(text)) return false
  return !containsEmail(decodePercentEncoding(Buffer.from(text, 'base64url').toString('utf8')))
}

function listRules(names: string, accepts: ClickIdRule['accepts']): [string, ClickIdRule][] {
  const rule = (name: string): ClickIdRule => ({ name, accepts, reason: DROP_REASONS.clickId })
  return names.split(/\s+/).map(name => [name.toLowerCase(), rule(name)])
}

const CLICK_ID_RULES = new Map<string, ClickIdRule>([
  ['fbclid', { name: 'fbclid', accepts: isFbclid, reason: DROP_REASONS.clickId }],
  ['fbc', { name: 'fbc', accepts: text => extractFbclid(text) !== null, reason: DROP_REASONS.fbc }],
  ['fbp', { name: 'fbp', accepts: isFbp, reason: DROP_REASONS.fbp }],
  ...listRules(CLICK_ID_NAMES, isClickId),
  ...listRules(CLICK_COOKIE_NAMES, text => CLICK_COOKIE_TEXT.test(text)),
  ...listRules(SESSION_NAMES, isSession),
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
