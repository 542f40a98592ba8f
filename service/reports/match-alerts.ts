import type { Alert } from './alert.ts'
import type { NameCoverage } from './match-coverage.ts'
import type { MatchAssessment } from './match-quality.ts'

export interface MatchAlerts {
  raised: Pick<Alert, 'kind' | 'sentence' | 'details'>[]
  resolved: Alert['kind'][]
}

export interface SnapshotToJudge {
  assessment: MatchAssessment
  coverage: readonly NameCoverage[]
  /** Our coverage beside the snapshot of a week earlier; empty when there is none. */
  coverageBefore: readonly NameCoverage[]
}

const POINTS_FALLEN_MIN = 10

/**
 * What a snapshot raises, and what it shows to be fine again. Without one of a week earlier nobody
 * knows whether the score has fallen: that alert is then left as it is.
 */
export function matchAlerts(snapshot: SnapshotToJudge): MatchAlerts {
  const { score, weekOverWeekChange, hasFallen, isLow } = snapshot.assessment
  const details = { score, week_over_week_change: weekOverWeekChange }
  const alerts: MatchAlerts = { raised: [], resolved: [] }
  if (hasFallen) {
    const fall = weekOverWeekChange?.slice(1)
    const what = `The event match quality fell by ${fall} to ${score} within a week.`
    const sentence = `${what} ${cause(snapshot)}`
    alerts.raised.push({ kind: 'emq_fell', sentence, details })
  }
  if (hasFallen === false) alerts.resolved.push('emq_fell')
  if (isLow) {
    const sentence =
      `The event match quality is ${score}, and below 4.0 the platform finds too few of your ` +
      'customers: follow the advice in the newest snapshot of getEmqReport.'
    alerts.raised.push({ kind: 'emq_low', sentence, details })
  } else alerts.resolved.push('emq_low')
  return alerts
}

/** The key that went missing most, of the first name that both know. */
function cause({ coverage, coverageBefore }: SnapshotToJudge): string {
  for (const { event_name: name, keys: now } of coverage) {
    const before = coverageBefore.find(({ event_name }) => event_name === name)
    if (!before) continue
    const falls = Object.entries(before.keys)
      .map(([key, percent]) => ({ key, percent, points: percent - (now[key] ?? 0) }))
      .filter(({ points }) => points >= POINTS_FALLEN_MIN)
      .toSorted((a, b) => b.points - a.points)
    const [most] = falls
    if (!most) continue
    const { key, percent } = most
    const shares = `${now[key] ?? 0} % instead of ${percent} %`
    return `Fewer events carry ${key} than then, ${shares}: send it again.`
  }
  return 'Our events carry the same keys as then: look at other senders to the dataset.'
}
