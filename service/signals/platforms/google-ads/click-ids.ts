import { DAY_MILLISECONDS } from '../../../runtime/util/time.ts'
import { scrubUrl } from '../../identity/scrub-url.ts'
import type { SeenClickIds, SubmittedIdentity } from '../platform.ts'

/** The identifiers of a click that Google Ads matches, raw and never hashed. */
export const CLICK_ID_NAMES = ['gclid', 'gbraid', 'wbraid'] as const

/** The key of what is known of the visit that an ad led to, as Google Ads takes it. */
export const SESSION_ATTRIBUTES = 'session_attributes'

type ClickIdName = (typeof CLICK_ID_NAMES)[number]

type SubmittedClick = Pick<
  SubmittedIdentity,
  'clickIds' | 'eventSource' | 'eventTime' | 'observedAt'
>

/**
 * The click IDs of an event with those that Google's cookies and the URL of the page hold. An ID
 * that the caller names itself wins over the page, and the page over a cookie, which may be of an
 * earlier visit.
 */
export function resolveGoogleClicks(submitted: SubmittedClick): Record<string, string> {
  const { clickIds } = submitted
  const page = parseLandingPage(submitted.eventSource)
  const latest = Math.min(Number(submitted.eventTime), Number(submitted.observedAt))
  const resolved: Record<string, string> = {}
  for (const [name, value] of Object.entries(clickIds)) {
    if (!HOLDERS.has(name)) resolved[name] = value
  }
  for (const name of CLICK_ID_NAMES) {
    const id = findClickId(clickIds, name) ?? findInPage(page, name)
    const found = id ?? findInCookies(clickIds, name, latest)
    if (found !== undefined) resolved[name] = found
  }
  const session = readSession(clickIds) ?? buildSession(page, latest)
  if (session !== undefined) resolved[SESSION_ATTRIBUTES] = session
  return resolved
}

/**
 * What is sent of an event's clicks. An event with a click of its own does not get that of an
 * earlier visit: two clicks are two ads. An ID of another form would cost the event its match.
 */
export function joinGoogleClicks({ own, seen, eventTime }: SeenClickIds): Record<string, string> {
  const visits = [own, ...seen].map(clickIds => selectClicks(clickIds, Number(eventTime)))
  return visits.find(clicks => Object.keys(clicks).length > 0) ?? {}
}

/** The cookies of a visit stay as they came while the tracker has no destination at Google. */
function selectClicks(clickIds: Record<string, string>, latest: number): Record<string, string> {
  const clicks: Record<string, string> = {}
  for (const name of CLICK_ID_NAMES) {
    const id = findClickId(clickIds, name) ?? findInCookies(clickIds, name, latest)
    if (id !== undefined) clicks[name] = id
  }
  const session = readSession(clickIds)
  if (session !== undefined) clicks[SESSION_ATTRIBUTES] = session
  return clicks
}

function findClickId(clickIds: Record<string, string>, name: ClickIdName): string | undefined {
  const id = clickIds[name]
  return id !== undefined && CLICK_ID.test(id) ? id : undefined
}

/** Letters, digits, - and _: what Google's click IDs are made of. */
const CLICK_ID = /^[\w-]{8,512}$/

/** Google attributes no click that is older. */
const CLICK_AGE_MILLISECONDS_MAX = 90 * DAY_MILLISECONDS
/** The clock of the browser may be so far ahead of the one that names the time of the event. */
const CLOCKS_APART_MILLISECONDS_MAX = 300_000

/** `GCL.<seconds>.<id>`: the cookies of Google's tag. */
const TAG_COOKIE = /^[\w.-]*?(?:\.(\d{9,10}))?\.([\w-]+)$/
/** `2.1.k<id>$i<seconds>`, with more parts between: the cookies of a server container. */
const SERVER_COOKIE = /\.k([\w-]+)\$(?:[^$]*\$)*i(\d{9,10})/

/** Cookies by the identifier that they hold, by their names in `click_ids`. */
const COOKIES: Record<ClickIdName, readonly string[]> = {
  gclid: ['gcl_aw', 'FPGCLAW'],
  gbraid: ['gcl_ag', 'FPGCLAG'],
  wbraid: ['gcl_gb', 'FPGCLGB'],
}

/** What is read once, and not kept beside what it holds. */
const HOLDERS: ReadonlySet<string> = new Set([
  ...Object.values(COOKIES).flat(),
  'dm_session_attributes',
  SESSION_ATTRIBUTES,
])

function findInCookies(
  clickIds: Record<string, string>,
  name: ClickIdName,
  latest: number,
): string | undefined {
  for (const cookie of COOKIES[name]) {
    const text = clickIds[cookie]
    if (text === undefined) continue
    const click = readClickCookie(text)
    if (click !== null && isCurrent(click.clickedAt, latest)) return click.id
  }
  return undefined
}

interface ClickOfCookie {
  id: string
  /** Milliseconds since 1970; null when the cookie names no time. */
  clickedAt: number | null
}

/** The click ID in one of Google's cookies, and when the click happened. */
export function readClickCookie(text: string): ClickOfCookie | null {
  const [, serverId, serverSeconds] = SERVER_COOKIE.exec(text) ?? []
  const [, tagSeconds, tagId] = TAG_COOKIE.exec(text) ?? []
  const id = serverId ?? tagId ?? ''
  const seconds = serverSeconds ?? tagSeconds
  if (!CLICK_ID.test(id)) return null
  return { id, clickedAt: seconds === undefined ? null : Number(seconds) * 1_000 }
}

function isCurrent(clickedAt: number | null, latest: number): boolean {
  if (clickedAt === null) return true
  const isLater = clickedAt > latest + CLOCKS_APART_MILLISECONDS_MAX
  return !isLater && clickedAt >= latest - CLICK_AGE_MILLISECONDS_MAX
}

const URL_CHARACTERS_MAX = 65_536
const MAY_HOLD_A_CLICK = /[?&](?:gclid|gbraid|wbraid|gad_\w+)=/

/** Null for a page without a click. Most have none, and looking for the names spares the parser. */
function parseLandingPage(eventSource: string | undefined): URL | null {
  if (eventSource === undefined || !MAY_HOLD_A_CLICK.test(eventSource)) return null
  return URL.parse(eventSource.slice(0, URL_CHARACTERS_MAX))
}

function findInPage(page: URL | null, name: ClickIdName): string | undefined {
  const id = page?.searchParams.get(name)
  return id && CLICK_ID.test(id) ? id : undefined
}

const SESSION_CHARACTERS_MAX = 4_000
const BASE64URL = /^[\w-]{8,4000}={0,2}$/

/** What Google's own script collected, as the caller sent it. */
function readSession(clickIds: Record<string, string>): string | undefined {
  const sent = clickIds[SESSION_ATTRIBUTES] ?? clickIds.dm_session_attributes
  return sent !== undefined && BASE64URL.test(sent) ? sent : undefined
}

const PARAMETER = /^gad_[a-z_]{1,40}$/
const PARAMETER_VALUE = /^[\w.~-]{1,100}$/
/** Google's page calls these required in one edition and optional in another: they go, or none. */
const REQUIRED_PARAMETERS = ['gad_source', 'gad_campaignid']

/**
 * The page to which an ad led, for Google's models where no click ID is known. The URL is scrubbed
 * of identifiers, and the browser is left out: the event names it.
 */
function buildSession(page: URL | null, latest: number): string | undefined {
  if (page === null) return undefined
  const parameters = Object.fromEntries(
    [...page.searchParams].filter(
      ([name, value]) => PARAMETER.test(name) && PARAMETER_VALUE.test(value),
    ),
  )
  if (!REQUIRED_PARAMETERS.every(name => name in parameters)) return undefined
  page.hash = ''
  const attributes = {
    ...parameters,
    session_start_time_usec: String(latest * 1_000),
    landing_page_url: scrubUrl(page.href).url,
  }
  const encoded = Buffer.from(JSON.stringify(attributes)).toString('base64url')
  return encoded.length <= SESSION_CHARACTERS_MAX ? encoded : undefined
}
