import {
  CLICK_AGE_MILLISECONDS_MAX,
  extractFbclid,
  isFbclid,
  isFbp,
} from '../../identity/click-ids.ts'
import {
  DROP_REASONS,
  type DroppedField,
  type DropReason,
  recordDropped,
} from '../../identity/dropped-fields.ts'
import type { SeenClickIds, SubmittedIdentity } from '../platform.ts'

/** The click IDs of an event with Meta's two cookies, which stand beside the others. */
interface ClickCookies {
  clickIds: Record<string, string>
  fbc: string | null
  fbp: string | null
  /** What was left out of the URL and of `click_ids.fbc`. */
  dropped: DroppedField[]
}

type SubmittedClick = Pick<
  SubmittedIdentity,
  'clickIds' | 'userData' | 'eventSource' | 'eventTime' | 'observedAt'
>

/**
 * Settles the Meta click cookie of one event: an fbc that already holds the current fbclid is kept
 * with its own time, any other fbclid gets a new `fb.1.<ms>.<fbclid>`, its case untouched. The new
 * time is the earlier of event time and receipt, because the click led to the event. An fbp is
 * taken over, never invented. A bad candidate costs itself, and the next one is tried.
 */
export function resolveClickCookies(submitted: SubmittedClick): ClickCookies {
  const dropped: DroppedField[] = []
  const { userData, eventSource } = submitted
  const { fbc, fbp, ...clickIds } = submitted.clickIds
  const fbclid = clickIds.fbclid ?? extractFbclidFromUrl(eventSource, dropped)
  if (fbclid !== null) clickIds.fbclid = fbclid

  const latest = findLatestClickTime(submitted)
  const own = fbc === undefined ? null : checkFbc(fbc, latest)
  if (own && 'reason' in own) recordDropped(dropped, 'click_ids.fbc', own.reason)
  const fbps = [fbp, userData?.fbp, userData?._fbp]
  return {
    clickIds,
    fbc: resolveFbc(selectTexts([fbc, userData?.fbc, userData?._fbc]), { fbclid, latest }),
    fbp: selectTexts(fbps).find(isFbp) ?? null,
    dropped,
  }
}

/** A click leads to its event, so it happens no later than the event and its receipt. */
export function findLatestClickTime({
  eventTime,
  observedAt,
}: Pick<SubmittedIdentity, 'eventTime' | 'observedAt'>): Date {
  return eventTime < observedAt ? eventTime : observedAt
}

/** The clock of the browser may be so far ahead of the one that names the time of the event. */
const CLOCKS_APART_MILLISECONDS_MAX = 300_000

/** A time before this, 2001-09-09 in milliseconds, was written in seconds. */
const MILLISECONDS_MIN = 1_000_000_000_000

/** The time comes after `fb.1.`. */
const TIME_START = 5

/**
 * An fbc with its time in milliseconds, as Meta wants it, or the reason to drop it. Some servers
 * write seconds; ten digits of milliseconds would be a click in 1970.
 */
export function checkFbc(text: string, latest: Date): { kept: string } | { reason: DropReason } {
  if (extractFbclid(text) === null) return { reason: DROP_REASONS.fbc }
  const digits = text.slice(TIME_START, text.indexOf('.', TIME_START))
  const isSeconds = digits.length === 10
  const clickedAt = isSeconds ? Number(digits) * 1_000 : Number(digits)
  if (clickedAt > Number(latest) + CLOCKS_APART_MILLISECONDS_MAX) {
    return { reason: DROP_REASONS.clickInFuture }
  }
  const isOld = clickedAt < Number(latest) - CLICK_AGE_MILLISECONDS_MAX
  if (isOld || clickedAt < MILLISECONDS_MIN) return { reason: DROP_REASONS.clickTooOld }
  return { kept: isSeconds ? setClickTime(text, clickedAt) : text }
}

interface CurrentClick {
  fbclid: string | null
  latest: Date
}

/**
 * Null when an fbc says that the current click is too old: a visitor may open a bookmark that still
 * has the fbclid, and a new time would make it a new click.
 */
function resolveFbc(candidates: string[], { fbclid, latest }: CurrentClick): string | null {
  let isOld = false
  for (const candidate of candidates) {
    if (fbclid !== null && extractFbclid(candidate) !== fbclid) continue
    const checked = checkFbc(candidate, latest)
    if ('kept' in checked) return checked.kept
    isOld ||= checked.reason === DROP_REASONS.clickTooOld
  }
  return fbclid === null || isOld ? null : createFbc(fbclid, latest)
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

/** Of values and lists of values, the texts, trimmed. */
function selectTexts(candidates: unknown[]): string[] {
  const texts: string[] = []
  const addText = (value: unknown) => {
    if (typeof value === 'string') texts.push(value.trim())
  }
  for (const candidate of candidates) {
    if (Array.isArray(candidate)) candidate.forEach(addText)
    else addText(candidate)
  }
  return texts
}

/** Makes the click cookie of a click that has none yet. Index 1: made on a server, no cookie. */
function createFbc(fbclid: string, clickedAt: Date): string {
  return `fb.1.${clickedAt.getTime()}.${fbclid}`
}

/** Click and browser ID, the event's own or from an earlier visit of the same person. */
export function joinClickCookies({ own, seen, eventTime }: SeenClickIds): Record<string, string> {
  const fbc = joinFbc({ own, seen, eventTime })
  const fbp = [own, ...seen].find(one => one.fbp !== undefined)?.fbp
  return { ...(fbc !== null && { fbc }), ...(fbp !== undefined && { fbp }) }
}

/**
 * The click that led to the event: its own, or the most trusted one that is usable. A click keeps
 * the time at which the session first saw it; one that it saw only after the event, or long before
 * it, led somewhere else. The rules are those of acceptance, because earlier versions stored an fbc
 * as it came.
 */
function joinFbc({ own, seen, eventTime }: SeenClickIds): string | null {
  const { fbc, fbclid = null } = own
  const ownFbc = fbc === undefined ? null : resolveFbc([fbc], { fbclid, latest: eventTime })
  const seenFbcs = seen.flatMap(one => resolveSeenFbc(one.fbc, eventTime) ?? [])
  const joined = ownFbc ?? seenFbcs[0] ?? null
  if (joined === null) return null
  const click = extractFbclid(joined)
  const ofClick = seenFbcs.filter(one => extractFbclid(one) === click)
  return ofClick.reduce(
    (first, one) => (readClickTime(one) < readClickTime(first) ? one : first),
    joined,
  )
}

/** Another visit made the cookie, so its time may be some minutes after this event. */
function resolveSeenFbc(fbc: string | undefined, eventTime: Date): string | null {
  if (fbc === undefined) return null
  const checked = checkFbc(fbc, eventTime)
  if ('reason' in checked) return null
  const isLater = readClickTime(checked.kept) > Number(eventTime)
  return isLater ? setClickTime(checked.kept, Number(eventTime)) : checked.kept
}

/** The creation time inside an fbc: `fb.<index>.<ms>.<fbclid>`. */
function readClickTime(fbc: string): number {
  return Number(fbc.split('.')[2])
}

function setClickTime(fbc: string, milliseconds: number): string {
  const parts = fbc.split('.')
  parts[2] = String(milliseconds)
  return parts.join('.')
}
