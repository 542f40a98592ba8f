import { DAY_MILLISECONDS } from '../../../../runtime/util/time.ts'
import type {
  CountedDay,
  CountedSource,
  DayCounts,
  MatchQuality,
  Platform,
  PlatformCredentials,
  Unavailable,
} from '../../platform.ts'
import {
  buildGraphHeaders,
  buildGraphUrl,
  classifyTransportError,
  type MetaOptions,
  readResponseText,
  readWaitSeconds,
  UNWRITABLE_MESSAGE,
} from '../graph-api.ts'
import type { MetaTarget } from '../payload.ts'
import { parseMatchQuality, QUALITY_FIELDS } from './match-quality.ts'
import {
  EventCountTally,
  type ReportAnswer,
  type ReportBody,
  readReportAnswer,
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
  const headers = buildGraphHeaders(accessToken)
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
  return String(Math.floor(at.getTime() / 1_000))
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
