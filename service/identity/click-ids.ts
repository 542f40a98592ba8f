import {
  DROP_REASONS,
  type DroppedField,
  type DropReason,
  formatMemberPath,
  MEMBERS_MAX,
  recordDropped,
} from './dropped-fields.ts'

interface ClickIdSources {
  /** The event's free-form `click_ids`. */
  clickIds?: Record<string, unknown> | undefined
  /** The event's `user_data`, of which only `fbc` and `fbp` are looked at. */
  userData?: Record<string, unknown> | undefined
  /** The event's URL as submitted, before scrubUrl, for its `fbclid` parameter. */
  eventSource?: string | undefined
  observedAt: Date
}

export interface ResolvedClickIds {
  /** Known click ids by their own spelling; fbc and fbp stand beside it. */
  clickIds: Record<string, string>
  fbc: string | null
  fbp: string | null
  /** What was left out of `click_ids` and the URL. normalizeUserData records `user_data`. */
  dropped: DroppedField[]
}

/**
 * Gathers the advertising click ids of one event and settles its Meta click cookie (domain
 * reference B3): an fbc that already holds the current fbclid is kept with its own time, any
 * other fbclid gets a new `fb.1.<observedAt, ms>.<fbclid>`, its case untouched. An fbp is taken
 * over, never invented. A bad candidate costs itself, and the next one is tried.
 */
export function resolveClickIds(sources: ClickIdSources): ResolvedClickIds {
  const dropped: DroppedField[] = []
  const { userData } = sources
  const { fbc, fbp, ...clickIds } = selectClickIds(sources.clickIds, dropped)
  const fbclid = clickIds.fbclid ?? extractFbclidFromUrl(sources.eventSource, dropped)
  if (fbclid !== null) clickIds.fbclid = fbclid

  const fbcs = [fbc, userData?.fbc, userData?._fbc]
  const fbps = [fbp, userData?.fbp, userData?._fbp]
  return {
    clickIds,
    fbc: resolveFbc(selectTexts(isFbc, fbcs), fbclid, sources.observedAt),
    fbp: selectTexts(isFbp, fbps)[0] ?? null,
    dropped,
  }
}

interface ClickIdRule {
  name: string
  accepts: (text: string) => boolean
  reason: DropReason
}

/** Without @ and +, so that neither an e-mail address nor a written phone number gets through. */
const CLICK_ID = /^[\w.~%=:|-]{1,512}$/

const CLICK_ID_NAMES = `gclid gbraid wbraid dclid ttclid msclkid ScCid li_fat_id twclid epik
  rdt_cid yclid irclickid`

const CLICK_ID_RULES = new Map<string, ClickIdRule>([
  ['fbclid', { name: 'fbclid', accepts: isFbclid, reason: DROP_REASONS.clickId }],
  ['fbc', { name: 'fbc', accepts: text => extractFbclid(text) !== null, reason: DROP_REASONS.fbc }],
  ['fbp', { name: 'fbp', accepts: isFbp, reason: DROP_REASONS.fbp }],
  ...CLICK_ID_NAMES.split(/\s+/).map((name): [string, ClickIdRule] => [
    name.toLowerCase(),
    { name, accepts: text => CLICK_ID.test(text), reason: DROP_REASONS.clickId },
  ]),
])

function selectClickIds(submitted: unknown, dropped: DroppedField[]): Record<string, string> {
  const accepted: Record<string, string> = {}
  if (typeof submitted !== 'object' || submitted === null || Array.isArray(submitted))
    return accepted
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
  return accepted
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

const FBC = /^fb\.\d\.\d{10,13}\.([\w~%=-]{1,500})(?:\.[\w-]{2,8})?$/
const FBP = /^fb\.\d\.\d{10,13}\.\d{1,20}(?:\.[\w-]{2,8})?$/
const FBCLID = /^[\w~%=-]{1,500}$/

/**
 * Meta's click cookie: `fb.<subdomain index>.<creation time, ms>.<fbclid>`, leniently, with the
 * optional fifth part that Meta's Parameter Builder appends ("ClickID and the fbp and fbc
 * Parameters"). Returns the fbclid inside, its case untouched, or null when it is not an fbc.
 */
export function extractFbclid(text: string): string | null {
  return FBC.exec(text)?.[1] ?? null
}

/** Makes the click cookie of a click that has none yet. Index 1: made on a server, no cookie. */
function createFbc(fbclid: string, observedAt: Date): string {
  return `fb.1.${observedAt.getTime()}.${fbclid}`
}

/** Meta's browser cookie: `fb.<subdomain index>.<creation time, ms>.<random number>`. */
export function isFbp(text: string): boolean {
  return FBP.test(text)
}

/** A click identifier of Meta as it stands in a landing URL. */
function isFbclid(text: string): boolean {
  return FBCLID.test(text)
}
