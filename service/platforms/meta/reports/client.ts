import type {
  CountedDay,
  CountedSource,
  Credentials,
  DayCounts,
  MatchQuality,
  Platform,
  Unavailable,
} from '../../platform.ts'
import { classifyTransportError } from '../answer.ts'
import { type MetaOptions, readResponseText } from '../graph-api.ts'
import { retryAfterSeconds, usageWaitSeconds } from '../rate-limit-headers.ts'
import type { MetaTarget } from '../target.ts'
import { EventCountTally } from './event-counts.ts'
import { parseMatchQuality, QUALITY_FIELDS } from './match-quality.ts'
import {
  type ReportAnswer,
  type ReportBody,
  readReportAnswer,
  unavailable,
} from './report-answer.ts'

/** Seven days of hours are about 800 KB; a day is a seventh of that. */
const ANSWER_BYTES_MAX = 8 * 1_024 * 1_024
/** A day has 24 rows; more pages than rows, with some to spare, are no answer to our question. */
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
  credentials: Credentials<MetaTarget>,
  { day, source }: { day: CountedDay; source: CountedSource },
): Promise<DayCounts | Unavailable> {
  const first = buildUrl(options, [credentials.target.datasetId, 'stats'], {
    aggregation: 'event',
    event_source: SOURCE_PARAMETERS[source],
    start_time: unixSeconds(day.from),
    end_time: unixSeconds(day.until),
  })
  if (!first) return unavailable('credential', { sentence: UNWRITABLE })
  const tally = new EventCountTally(day)
  let page = first
  for (let pages = 1; pages <= PAGES_MAX; pages++) {
    const answer = await ask(options, page, credentials)
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
  credentials: Credentials<MetaTarget>,
): Promise<MatchQuality | Unavailable> {
  const place = buildUrl(options, ['dataset_quality'], {
    dataset_id: credentials.target.datasetId,
    fields: QUALITY_FIELDS,
  })
  if (!place) return unavailable('credential', { sentence: UNWRITABLE })
  const answer = await ask(options, place, credentials)
  if (answer.kind === 'unavailable') return answer
  return parseMatchQuality(answer.body, credentials.accessToken) ?? unavailable('unreadable')
}

const UNWRITABLE =
  'The access token or the dataset id holds characters that no request can carry: enter it again.'

/** Null when no address can carry the dataset id. */
function buildUrl(
  { baseUrl, version }: MetaOptions,
  path: string[],
  query: Record<string, string>,
): URL | null {
  try {
    const place = [version, ...path.map(encodeURIComponent)].join('/')
    return new URL(`${baseUrl}/${place}?${new URLSearchParams(query)}`)
  } catch {
    return null
  }
}

/** One request. The token travels in a header, so that no URL log holds it. */
async function ask(
  options: MetaOptions,
  place: URL,
  { accessToken }: Credentials<MetaTarget>,
): Promise<ReportAnswer | Unavailable> {
  const headers = headersOf(accessToken)
  if (!headers) return unavailable('credential', { sentence: UNWRITABLE })
  try {
    const response = await fetch(place, {
      headers,
      // Elsewhere the token would be told to whoever the answer names.
      redirect: 'manual',
      signal: AbortSignal.timeout(options.timeoutMilliseconds),
    })
    const { text, isComplete: isWhole } = await readResponseText(response, ANSWER_BYTES_MAX)
    const header = (name: string) => response.headers.get(name)
    const waitSeconds = Math.max(usageWaitSeconds(header), retryAfterSeconds(header))
    return readReportAnswer({ status: response.status, text: isWhole ? text : '', waitSeconds })
  } catch (error) {
    const sentence = classifyTransportError(error).error?.message
    return unavailable('out_of_reach', sentence === undefined ? {} : { sentence })
  }
}

/** Null when no request can carry the token. What is thrown then may quote it. */
function headersOf(accessToken: string): Headers | null {
  try {
    return new Headers({ authorization: `Bearer ${accessToken}` })
  } catch {
    return null
  }
}

function unixSeconds(at: Date): string {
  return String(Math.floor(at.getTime() / 1_000))
}

/**
 * Where the next page is; null after the last one. Only the query may differ from what was asked
 * first: an answer must not send our token to another address. Meta writes the token into the
 * address; it is taken out again, since it travels in a header (Graph API, Paginated Results).
 */
function readNextPage({ paging }: ReportBody, first: URL): URL | null | 'elsewhere' {
  const next = (paging as { next?: unknown } | null | undefined)?.next
  if (next === undefined || next === null) return null
  const place = typeof next === 'string' ? URL.parse(next) : null
  if (!place || place.origin !== first.origin || place.pathname !== first.pathname)
    return 'elsewhere'
  if (place.username !== '' || place.password !== '') return 'elsewhere'
  place.searchParams.delete('access_token')
  place.hash = ''
  return place
}

/** How far back Meta keeps its counts, and the longest span that it shows ("Ads Pixel Stats"). */
const REACH_MILLISECONDS = 7 * 86_400_000
/** Meta's clock may be ahead of ours, and the answer takes a while. */
const SKEW_MILLISECONDS = 300_000

/**
 * Why the counts of a span cannot be had, known without asking; null when they can. What is out of
 * reach is left out of Meta's answer without a word, and would look like hours without events.
 */
function checkRange({ from, until }: CountedDay, now: () => Date): Unavailable | null {
  const reach = now().getTime() - REACH_MILLISECONDS + SKEW_MILLISECONDS
  const isTooLong = until.getTime() - from.getTime() > REACH_MILLISECONDS
  return from.getTime() < reach || isTooLong ? unavailable('out_of_range') : null
}
