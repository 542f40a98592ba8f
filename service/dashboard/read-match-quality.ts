import { decimalToken } from '@signalbox/contract/decimal.ts'
import type {
  MatchAdvice,
  MatchCoverage,
  MatchQualityReport,
} from '@signalbox/contract/session/reports.ts'
import type { Database } from '../runtime/db/database.ts'
import { type CsvCell, formatCsv } from '../runtime/util/csv.ts'
import { isObject } from '../runtime/util/is-object.ts'
import type { TrackerIdentity } from '../signals/access/tracker-store.ts'
import { destinationView } from '../signals/delivery/destination-resource.ts'
import { listDestinations } from '../signals/delivery/destination-store.ts'
import { FINE_SCORE_MIN } from '../signals/reports/match-quality.ts'
import {
  type DayRange,
  findFailedReadings,
  findScores,
  findSnapshotAnswer,
  type StoredScore,
} from '../signals/reports/match-quality-store.ts'

interface ReportRequest {
  tracker: TrackerIdentity
  range: DayRange
  at: Date
}

/** The match quality of each destination over a range of days, and how to improve it. */
export async function readMatchQuality(
  database: Database,
  { tracker: { trackerId, workspaceId }, range, at }: ReportRequest,
): Promise<MatchQualityReport> {
  const scores = await findScores(database, trackerId, range)
  const failures = await findFailedReadings(database, trackerId)
  const destinations: MatchQualityReport['destinations'] = []
  for (const destination of await listDestinations(database, trackerId)) {
    const own = scores.filter(({ destinationId }) => destinationId === destination.id)
    const [newest] = own
    const answer = newest ? await findSnapshotAnswer(database, trackerId, newest) : null
    const failure = failures.find(({ destinationId }) => destinationId === destination.id)
    destinations.push({
      destination: destinationView(destination, { workspaceId, at }),
      trend: own.toReversed().map(scoreView),
      measured_at: answer?.measuredAt.toISOString() ?? null,
      ...readOwnPart(answer?.platformResponse ?? null),
      unavailable: failure
        ? { sentence: failure.sentence, next_read_at: failure.nextReadAt.toISOString() }
        : null,
    })
  }
  return { ...range, alert_below: FINE_SCORE_MIN, destinations }
}

function scoreView({ measuredOn, score, weekOverWeekChange, alerted }: StoredScore) {
  return {
    date: measuredOn,
    score: decimalToken(score),
    week_over_week_change: weekOverWeekChange === null ? null : decimalToken(weekOverWeekChange),
    alerted,
  }
}

/** Our part of a stored answer. Those of earlier versions may lack a member. */
function readOwnPart(response: Record<string, unknown> | null) {
  const own = isObject(response?.signalbox) ? response.signalbox : {}
  const { coverage, advice } = own
  return {
    coverage: Array.isArray(coverage) ? (coverage as MatchCoverage[]) : [],
    advice: Array.isArray(advice) ? (advice as MatchAdvice[]).toSorted(byGain) : [],
  }
}

function byGain(one: MatchAdvice, other: MatchAdvice): number {
  return (other.possible_gain_percent ?? 0) - (one.possible_gain_percent ?? 0)
}

const HEADER = ['date', 'destination_id', 'score', 'week_over_week_change', 'alerted']

/** The scores of a range of days, the newest first. */
export async function formatMatchQualityCsv(
  database: Database,
  { tracker, range }: Pick<ReportRequest, 'tracker' | 'range'>,
): Promise<string> {
  const scores = await findScores(database, tracker.trackerId, range)
  const rows = scores.map((score): CsvCell[] => [
    ...[score.measuredOn, score.destinationId],
    ...[Number(score.score), score.weekOverWeekChange && Number(score.weekOverWeekChange)],
    score.alerted ? 'yes' : 'no',
  ])
  return formatCsv([HEADER, ...rows])
}
