import { extractFbclid, isFbclid, isFbp } from '../../identity/click-ids.ts'
import { DROP_REASONS, type DroppedField, recordDropped } from '../../identity/dropped-fields.ts'
import type { SeenClickIds, SubmittedIdentity } from '../platform.ts'

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
