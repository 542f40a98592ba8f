import { decimalToken } from '@signalbox/contract/decimal.ts'
import type { MatchAdvice, MatchQualityReport } from '@signalbox/contract/session/reports.ts'
import type { Database } from '../runtime/db/database.ts'
import { isObject } from '../runtime/util/is-object.ts'
import { subtractDays } from '../runtime/util/time.ts'
import type { TrackerIdentity } from '../signals/access/tracker-store.ts'
import { destinationView } from '../signals/delivery/destination-resource.ts'
import { listDestinations } from '../signals/delivery/destination-store.ts'
import { countMatchKeys } from '../signals/delivery/sent-counts-store.ts'
import type { PlatformRegistry } from '../signals/platforms/registry.ts'
import { findThresholds } from '../signals/reports/alert-threshold-store.ts'
import { computeMatchCoverage } from '../signals/reports/match-quality.ts'
import { adviseMissingKeys } from '../signals/reports/match-quality-advice.ts'
import {
  type DayRange,
  findFailedReadings,
  findScores,
  findSnapshotAnswer,
  type StoredScore,
} from '../signals/reports/match-quality-store.ts'

interface QualityRequest {
  tracker: TrackerIdentity
  range: DayRange
  at: Date
}

/** As in a snapshot: the last day and the six before. */
const COVERAGE_DAYS_BACK = 6

/**
 * The match quality of each destination: the scores of a range of days, and from the first accepted
 * event on the coverage of each identifier and what raising it would bring.
 */
export async function readMatchQuality(
  { database, platforms }: { database: Database; platforms: PlatformRegistry },
  { tracker: { trackerId, workspaceId }, range, at }: QualityRequest,
): Promise<MatchQualityReport> {
  const scores = await findScores(database, trackerId, range)
  const failures = await findFailedReadings(database, trackerId)
  const from = subtractDays(new Date(`${range.to}T00:00:00Z`), COVERAGE_DAYS_BACK)
  const { scoreMin } = await findThresholds(database, workspaceId)
  const destinations: MatchQualityReport['destinations'] = []
  for (const destination of await listDestinations(database, trackerId)) {
    const { id: destinationId, platform } = destination
    const own = scores.filter(score => score.destinationId === destinationId)
    const [newest] = own
    const answer = newest ? await findSnapshotAnswer(database, trackerId, newest) : null
    const failure = failures.find(each => each.destinationId === destinationId)
    const span = { trackerId, destinationId, from, until: range.to }
    const matchKeys = platforms.find(platform)?.matchKeys ?? []
    const coverage = computeMatchCoverage(await countMatchKeys(database, span))
    const told = readAdvice(answer?.platformResponse ?? null)
    const missing = adviseMissingKeys(coverage, matchKeys, told)
    const none = Object.fromEntries(matchKeys.map(({ key }) => [key, 0]))
    destinations.push({
      destination: destinationView(destination, { workspaceId, at }),
      trend: own.toReversed().map(scoreView),
      measured_at: answer?.measuredAt.toISOString() ?? null,
      coverage: coverage.map(each => ({ ...each, keys: { ...none, ...each.keys } })),
      advice: [...missing, ...told.filter(({ kind }) => kind === 'lost_on_the_way')].sort(byGain),
      unavailable: failure
        ? { sentence: failure.sentence, next_read_at: failure.nextReadAt.toISOString() }
        : null,
    })
  }
  return { ...range, alert_below: Number(scoreMin), destinations }
}

function scoreView({ measuredOn, score, weekOverWeekChange, alerted }: StoredScore) {
  return {
    date: measuredOn,
    score: decimalToken(score),
    week_over_week_change: weekOverWeekChange === null ? null : decimalToken(weekOverWeekChange),
    alerted,
  }
}

/** The advice of a stored answer. Those of earlier versions may have none. */
function readAdvice(response: Record<string, unknown> | null): MatchAdvice[] {
  const own = isObject(response?.signalbox) ? response.signalbox : {}
  return Array.isArray(own.advice) ? (own.advice as MatchAdvice[]) : []
}

function byGain(one: MatchAdvice, other: MatchAdvice): number {
  return (other.possible_gain_percent ?? 0) - (one.possible_gain_percent ?? 0)
}
