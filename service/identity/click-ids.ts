import type { Dropped, Reason } from './dropped.ts'
import { memberPath, membersMax, REASONS, recordDropped } from './dropped.ts'
import { fbclidOfFbc, isFbclid, isFbp, makeFbc } from './fbc-and-fbp.ts'

export interface ClickIdSources {
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
  dropped: Dropped[]
}

/**
 * Gathers the advertising click ids of one event and settles its Meta click cookie (domain
 * reference B3): an fbc that already holds the current fbclid is kept with its own time, any
 * other fbclid gets a new `fb.1.<observedAt, ms>.<fbclid>`, its case untouched. An fbp is taken
 * over, never invented. A bad candidate costs itself, and the next one is tried.
 */
export function resolveClickIds(sources: ClickIdSources): ResolvedClickIds {
  const dropped: Dropped[] = []
  const { userData } = sources
  const { fbc, fbp, ...clickIds } = acceptedClickIds(sources.clickIds, dropped)
  const fbclid = clickIds.fbclid ?? fbclidOfUrl(sources.eventSource, dropped)
  if (fbclid !== null) clickIds.fbclid = fbclid

  const fbcs = [fbc, userData?.fbc, userData?._fbc]
  const fbps = [fbp, userData?.fbp, userData?._fbp]
  return {
    clickIds,
    fbc: settledFbc(textsThat(isFbc, fbcs), fbclid, sources.observedAt),
    fbp: textsThat(isFbp, fbps)[0] ?? null,
    dropped,
  }
}

interface ClickIdRule {
  name: string
  accepts: (text: string) => boolean
  reason: Reason
}

/** Without @ and +, so that neither an e-mail address nor a written phone number gets through. */
const CLICK_ID = /^[\w.~%=:|-]{1,512}$/

const ORDINARY_NAMES = `gclid gbraid wbraid dclid ttclid msclkid ScCid li_fat_id twclid epik
  rdt_cid yclid irclickid`

const RULES = new Map<string, ClickIdRule>([
  ['fbclid', { name: 'fbclid', accepts: isFbclid, reason: REASONS.clickId }],
  ['fbc', { name: 'fbc', accepts: text => fbclidOfFbc(text) !== null, reason: REASONS.fbc }],
  ['fbp', { name: 'fbp', accepts: isFbp, reason: REASONS.fbp }],
  ...ORDINARY_NAMES.split(/\s+/).map((name): [string, ClickIdRule] => [
    name.toLowerCase(),
    { name, accepts: text => CLICK_ID.test(text), reason: REASONS.clickId },
  ]),
])

function acceptedClickIds(submitted: unknown, dropped: Dropped[]): Record<string, string> {
  const accepted: Record<string, string> = {}
  if (typeof submitted !== 'object' || submitted === null || Array.isArray(submitted))
    return accepted
  const members = Object.entries(submitted)
  for (const [member, value] of members.slice(0, membersMax)) {
    if (value === null || value === undefined) continue
    const path = memberPath('click_ids', member)
    const rule = RULES.get(member.toLowerCase().replace(/^_/, ''))
    const text = typeof value === 'string' ? value.trim() : null
    if (rule === undefined) recordDropped(dropped, path, REASONS.unknown)
    else if (text === null) recordDropped(dropped, path, REASONS.wrongKind)
    else if (!rule.accepts(text)) recordDropped(dropped, path, rule.reason)
    else accepted[rule.name] ??= text
  }
  if (members.length > membersMax) recordDropped(dropped, 'click_ids', REASONS.tooManyMembers)
  return accepted
}

const urlCharsMax = 65_536

function fbclidOfUrl(eventSource: string | undefined, dropped: Dropped[]): string | null {
  // Most URLs carry no click; looking for the name first spares them the parser.
  if (!eventSource?.includes('fbclid=')) return null
  const fbclid = URL.parse(eventSource.slice(0, urlCharsMax))?.searchParams.get('fbclid')
  if (!fbclid) return null
  if (isFbclid(fbclid)) return fbclid
  recordDropped(dropped, 'event_source', REASONS.clickId)
  return null
}

function settledFbc(fbcs: string[], fbclid: string | null, observedAt: Date): string | null {
  if (fbclid === null) return fbcs[0] ?? null
  return fbcs.find(fbc => fbclidOfFbc(fbc) === fbclid) ?? makeFbc(fbclid, observedAt)
}

function isFbc(text: string): boolean {
  return fbclidOfFbc(text) !== null
}

/** Of values and lists of values, the texts that are what they should be, trimmed. */
function textsThat(holds: (text: string) => boolean, candidates: unknown[]): string[] {
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
