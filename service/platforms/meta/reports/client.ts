import type { Platform } from '../../platform.ts'
import type {
  CountedDay,
  CountedSource,
  DayCounts,
  MatchQuality,
  ReportTarget,
  Unavailable,
} from '../../platform-reports.ts'
import { answerText } from '../answer-text.ts'
import type { MetaOptions } from '../meta-options.ts'
import { retryAfterSeconds } from '../retry-after.ts'
import { transportFailure } from '../transport-failure.ts'
import { usageWaitSeconds } from '../usage-headers.ts'
import { DayTally } from './day-tally.ts'
import { nextPage } from './next-page.ts'
import { outOfRange } from './out-of-range.ts'
import { QUALITY_FIELDS, readQuality } from './quality.ts'
import { type ReportAnswer, readReportAnswer } from './report-answer.ts'
import { unavailable } from './unavailable.ts'

/** Seven days of hours are about 800 KB; a day is a seventh of that. */
const ANSWER_BYTES_MAX = 8 * 1_024 * 1_024
/** A day has 24 rows; more pages than rows, with some to spare, are no answer to our question. */
const PAGES_MAX = 50

type Reports = Pick<Platform, 'readDayCounts' | 'readMatchQuality'>

/** Meta's reports over HTTP (Meta: "Ads Pixel Stats", "Dataset Quality API"). */
export function metaReports(options: MetaOptions): Reports {
  return {
    async readDayCounts(target, day, source) {
      return outOfRange(day, options.now) ?? (await readDayCounts(options, target, { day, source }))
    },
    readMatchQuality: target => readMatchQuality(options, target),
  }
}

const SOURCE_WORDS: Record<CountedSource, string> = {
  server: 'SERVER_ONLY',
  browser: 'WEB_ONLY',
}

async function readDayCounts(
  options: MetaOptions,
  target: ReportTarget,
  { day, source }: { day: CountedDay; source: CountedSource },
): Promise<DayCounts | Unavailable> {
  const first = placeOf(options, [target.datasetId, 'stats'], {
    aggregation: 'event',
    event_source: SOURCE_WORDS[source],
    start_time: unixSeconds(day.from),
    end_time: unixSeconds(day.until),
  })
  if (!first) return unavailable('credential', { sentence: UNWRITABLE })
  const tally = new DayTally(day)
  let page = first
  for (let pages = 1; pages <= PAGES_MAX; pages++) {
    const answer = await ask(options, page, target)
    if (answer.kind === 'unavailable') return answer
    const next = nextPage(answer.body, first)
    if (next === 'elsewhere' || !tally.add(answer.body)) break
    if (!next) return tally.counts()
    page = next
  }
  return unavailable('unreadable')
}

async function readMatchQuality(
  options: MetaOptions,
  target: ReportTarget,
): Promise<MatchQuality | Unavailable> {
  const place = placeOf(options, ['dataset_quality'], {
    dataset_id: target.datasetId,
    fields: QUALITY_FIELDS,
  })
  if (!place) return unavailable('credential', { sentence: UNWRITABLE })
  const answer = await ask(options, place, target)
  if (answer.kind === 'unavailable') return answer
  return readQuality(answer.body, target.accessToken) ?? unavailable('unreadable')
}

const UNWRITABLE =
  'The access token or the dataset id holds characters that no request can carry: enter it again.'

/** Null when no address can carry the dataset id. */
function placeOf(
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
  { accessToken }: ReportTarget,
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
    const { text, isWhole } = await answerText(response, ANSWER_BYTES_MAX)
    const header = (name: string) => response.headers.get(name)
    const waitSeconds = Math.max(usageWaitSeconds(header), retryAfterSeconds(header))
    return readReportAnswer({ status: response.status, text: isWhole ? text : '', waitSeconds })
  } catch (error) {
    const sentence = transportFailure(error).error?.message
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
