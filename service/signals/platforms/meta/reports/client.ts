import { objectOrEmpty } from '../../../../runtime/util/is-object.ts'
import { DAY_MILLISECONDS } from '../../../../runtime/util/time.ts'
import {
  buildBearerHeaders,
  classifyTransportError,
  readResponseText,
  redactToken,
} from '../../client.ts'
import type {
  CountedDay,
  CountedSource,
  DayCounts,
  EventQuality,
  KeyQuality,
  MatchQuality,
  Platform,
  PlatformCredentials,
  Unavailable,
} from '../../platform.ts'
import { toUnixSeconds } from '../../units.ts'
import {
  buildGraphUrl,
  type MetaOptions,
  readWaitSeconds,
  UNWRITABLE_MESSAGE,
} from '../graph-api.ts'
import type { MetaTarget } from '../payload.ts'
import {
  EventCountTally,
  type ReportAnswer,
  type ReportBody,
  readReportAnswer,
  toStorableText,
  unavailable,
} from './report-answer.ts'

/** Seven days of hours are about 800 KB; a day is a seventh of that. */
const ANSWER_BYTES_MAX = 8 * 1_024 * 1_024
/** A day has 24 rows, so more pages than that, with some to spare, are no valid answer. */
const PAGES_MAX = 50

type Reports = Pick<Platform<MetaTarget>, 'readDayCounts' | 'readMatchQuality'>

/** Meta's reports over HTTP (Meta: "Ads Pixel Stats", "Dataset Quality API"). */
export function metaReports(options: MetaOptions): Reports {
  return {
    async readDayCounts(credentials, day, source) {
      const refusal = checkRange(day, options.now)
      return refusal ?? (await readDayCounts(options, credentials, { day, source }))
    },
    readMatchQuality: credentials => readMatchQuality(options, credentials),
  }
}

const SOURCE_PARAMETERS: Record<CountedSource, string> = {
  server: 'SERVER_ONLY',
  browser: 'WEB_ONLY',
}

async function readDayCounts(
  options: MetaOptions,
  credentials: PlatformCredentials<MetaTarget>,
  { day, source }: { day: CountedDay; source: CountedSource },
): Promise<DayCounts | Unavailable> {
  const first = buildGraphUrl(options, [credentials.target.datasetId, 'stats'], {
    aggregation: 'event',
    event_source: SOURCE_PARAMETERS[source],
    start_time: unixSeconds(day.from),
    end_time: unixSeconds(day.until),
  })
  if (!first) return unavailable('credential', { sentence: UNWRITABLE_MESSAGE })
  const tally = new EventCountTally(day)
  let page = first
  for (let pages = 1; pages <= PAGES_MAX; pages++) {
    const answer = await requestReport(options, page, credentials)
    if (answer.kind === 'unavailable') return answer
    const next = readNextPage(answer.body, first)
    if (next === 'elsewhere' || !tally.add(answer.body)) break
    if (!next) return tally.counts()
    page = next
  }
  return unavailable('unreadable')
}

async function readMatchQuality(
  options: MetaOptions,
  credentials: PlatformCredentials<MetaTarget>,
): Promise<MatchQuality | Unavailable> {
  const url = buildGraphUrl(options, ['dataset_quality'], {
    dataset_id: credentials.target.datasetId,
    fields: QUALITY_FIELDS,
  })
  if (!url) return unavailable('credential', { sentence: UNWRITABLE_MESSAGE })
  const answer = await requestReport(options, url, credentials)
  if (answer.kind === 'unavailable') return answer
  return parseMatchQuality(answer.body, credentials.accessToken) ?? unavailable('unreadable')
}

/** Makes one request. The token travels in a header, because URLs are logged. */
async function requestReport(
  options: MetaOptions,
  url: URL,
  { accessToken }: PlatformCredentials<MetaTarget>,
): Promise<ReportAnswer | Unavailable> {
  const headers = buildBearerHeaders(accessToken)
  if (!headers) return unavailable('credential', { sentence: UNWRITABLE_MESSAGE })
  try {
    const response = await fetch(url, {
      headers,
      // A redirect would send the token to the address that the answer names.
      redirect: 'manual',
      signal: AbortSignal.timeout(options.timeoutMilliseconds),
    })
    const { text, isComplete } = await readResponseText(response, ANSWER_BYTES_MAX)
    const waitSeconds = readWaitSeconds(response)
    return readReportAnswer({ status: response.status, text: isComplete ? text : '', waitSeconds })
  } catch (error) {
    const sentence = classifyTransportError(error).error?.message
    return unavailable('out_of_reach', sentence === undefined ? {} : { sentence })
  }
}

function unixSeconds(at: Date): string {
  return String(toUnixSeconds(at))
}

/**
 * Returns the URL of the next page; null after the last one. Only the query may differ from that of
 * the first request: an answer must not send our token to another address. Meta writes the token
 * into the URL; it is removed, since it travels in a header (Graph API, Paginated Results).
 */
function readNextPage({ paging }: ReportBody, first: URL): URL | null | 'elsewhere' {
  const next = (paging as { next?: unknown } | null | undefined)?.next
  if (next === undefined || next === null) return null
  const url = typeof next === 'string' ? URL.parse(next) : null
  if (!url || url.origin !== first.origin || url.pathname !== first.pathname) return 'elsewhere'
  if (url.username !== '' || url.password !== '') return 'elsewhere'
  url.searchParams.delete('access_token')
  url.hash = ''
  return url
}

/** How far back Meta keeps its counts, and the longest span that it shows ("Ads Pixel Stats"). */
const RANGE_MILLISECONDS = 7 * DAY_MILLISECONDS
/** Meta's clock may be ahead of ours, and the answer takes a while. */
const CLOCK_SKEW_MILLISECONDS = 300_000

/**
 * Why the counts of a span cannot be read, known without a request; null when they can. Meta leaves
 * out hours that it no longer keeps, and they would look like hours without events.
 */
function checkRange({ from, until }: CountedDay, now: () => Date): Unavailable | null {
  const earliest = now().getTime() - RANGE_MILLISECONDS + CLOCK_SKEW_MILLISECONDS
  const isTooLong = until.getTime() - from.getTime() > RANGE_MILLISECONDS
  return from.getTime() < earliest || isTooLong ? unavailable('out_of_range') : null
}

const SHARE = '{percentage,description}'

/** Every known field of the edge (Meta: "Dataset Quality API"). */
export const QUALITY_FIELDS = `web{${[
  'event_name',
  `event_match_quality{${[
    'composite_score',
    `match_key_feedback{identifier,coverage{percentage},potential_aly_acr_increase${SHARE}}`,
    'diagnostics{name,description,solution,percentage,affected_event_count,total_event_count}',
  ]}}`,
  'event_coverage{percentage,goal_percentage,description}',
  `dedupe_key_feedback{${[
    'dedupe_key',
    `browser_events_with_dedupe_key${SHARE}`,
    `server_events_with_dedupe_key${SHARE}`,
    `overall_browser_coverage_from_dedupe_key${SHARE}`,
  ]}}`,
  'data_freshness{upload_frequency,description}',
  `acr${SHARE}`,
  `event_potential_aly_acr_increase${SHARE}`,
]}}`

const SCORE_MAX = 10
const PERCENT_MAX = 100
const ENTRIES_MAX = 10_000
const DEPTH_MAX = 20

/** Meta's names of keys that are called otherwise in `user_data`. */
const KEYS = new Map([
  ['email', 'em'],
  ['phone', 'ph'],
  ['ip_address', 'client_ip_address'],
  ['user_agent', 'client_user_agent'],
])

/**
 * Reads the answer of the quality edge. An entry without a score is left out: Meta has none for a
 * new event name. Null when the body or a score in it is not valid.
 */
export function parseMatchQuality(body: ReportBody, accessToken: string): MatchQuality | null {
  const answer = toStorable(body, accessToken, 0) as ReportBody | undefined
  if (!answer || !Array.isArray(answer.web) || answer.web.length > ENTRIES_MAX) return null
  const events: EventQuality[] = []
  const names = new Set<string>()
  for (const entry of answer.web) {
    const event = readEntry(entry)
    if (event === null || (event && names.has(event.eventName))) return null
    if (!event) continue
    names.add(event.eventName)
    events.push(event)
  }
  return { kind: 'quality', events, answer }
}

/** Undefined without a score; null when the entry is not valid. */
function readEntry(entry: unknown): EventQuality | undefined | null {
  const { event_name: eventName, event_match_quality } = objectOrEmpty(entry)
  if (typeof eventName !== 'string' || eventName === '') return null
  const quality = objectOrEmpty(event_match_quality)
  const { composite_score, match_key_feedback, diagnostics } = quality
  if (composite_score === undefined || composite_score === null) return undefined
  const score = readNumber(composite_score, SCORE_MAX)
  if (score === null) return null
  return {
    eventName,
    score,
    keys: listOf(match_key_feedback).flatMap(readKey),
    eventCount: readEventCount(listOf(diagnostics)),
  }
}

/** A key whose coverage cannot be read is left out; the score is valid without it. */
function readKey(feedback: unknown): KeyQuality[] {
  const { identifier, coverage, potential_aly_acr_increase: gain } = objectOrEmpty(feedback)
  const coveragePercent = readNumber(objectOrEmpty(coverage).percentage, PERCENT_MAX)
  if (typeof identifier !== 'string' || identifier === '' || coveragePercent === null) return []
  const possibleGainPercent = readNumber(objectOrEmpty(gain).percentage, Number.MAX_SAFE_INTEGER)
  return [{ key: KEYS.get(identifier) ?? identifier, coveragePercent, possibleGainPercent }]
}

/** Each diagnostic has a number of events; the largest one counts all of them. */
function readEventCount(diagnostics: unknown[]): number | null {
  const counts = diagnostics
    .map(diagnostic =>
      readNumber(objectOrEmpty(diagnostic).total_event_count, Number.MAX_SAFE_INTEGER),
    )
    .filter(count => count !== null && Number.isInteger(count))
  return counts.length > 0 ? Math.max(...(counts as number[])) : null
}

/** Numbers, and numbers in quotes, as counts were seen to come; null when out of 0 to `max`. */
function readNumber(value: unknown, max: number): number | null {
  const isText = typeof value === 'string' && /^\d{1,15}(\.\d{1,15})?$/.test(value)
  const number = isText ? Number(value) : value
  return typeof number === 'number' && number >= 0 && number <= max ? number : null
}

/** The same value, in texts that the store takes and without the token; undefined if too deep. */
function toStorable(value: unknown, accessToken: string, depth: number): unknown {
  if (depth > DEPTH_MAX) return undefined
  if (typeof value === 'string') return redactToken(toStorableText(value), accessToken)
  if (Array.isArray(value)) return value.map(item => toStorable(item, accessToken, depth + 1))
  if (typeof value !== 'object' || value === null) return value
  const members = Object.entries(value).map(([name, member]): [string, unknown] => [
    redactToken(toStorableText(name), accessToken),
    toStorable(member, accessToken, depth + 1),
  ])
  return Object.fromEntries(members)
}

function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : []
}
