import type { EventQuality, MatchKey } from '../platforms/platform.ts'
import type { Alert } from './alert-store.ts'
import {
  type EventNameCoverage,
  formatMillionths,
  type MatchAssessment,
  toMillionths,
} from './match-quality.ts'

/** Advice to improve the match quality of one event name; stored with the platform's answer. */
interface MatchAdvice {
  event_name: string
  key: string
  /** send_more: too few events have the key. lost_on_the_way: events have it, but it is lost. */
  kind: 'send_more' | 'lost_on_the_way'
  sentence: string
  /** The gain that the platform expects; null when unknown or when no key is missing. */
  possible_gain_percent: number | null
}

const NAMES_MAX = 20
/** With fewer events the share is chance. */
const EVENTS_COMPARED_MIN = 20
const LOST_POINTS_MIN = 20
const NAME_CHARACTERS_MAX = 60

/** Advice per event name that we send: keys to send more often, and keys that are lost. */
export function buildMatchAdvice(
  events: readonly EventQuality[],
  coverage: readonly EventNameCoverage[],
  matchKeys: readonly MatchKey[],
): MatchAdvice[] {
  const qualities = new Map(events.map(event => [event.eventName, event]))
  return coverage.slice(0, NAMES_MAX).flatMap(ours => {
    const quality = qualities.get(ours.event_name)
    return quality
      ? [...lostKeys(quality, ours, matchKeys), ...missingKey(quality, ours, matchKeys)]
      : []
  })
}

function lostKeys(
  { keys }: EventQuality,
  ours: EventNameCoverage,
  matchKeys: readonly MatchKey[],
): MatchAdvice[] {
  if (ours.events < EVENTS_COMPARED_MIN) return []
  return matchKeys.flatMap(({ key }) => {
    const seen = keys.find(quality => quality.key === key)?.coveragePercent
    const sent = ours.keys[key] ?? 0
    if (seen === undefined || sent - seen < LOST_POINTS_MIN) return []
    const sentence =
      `${displayName(ours)}: ${sent} % of our events carried ${key}, and the platform sees it in ` +
      `${seen} %. Look for another sender to this dataset that omits it, and for a proxy that ` +
      'drops it.'
    const kind = 'lost_on_the_way' as const
    return [{ event_name: ours.event_name, key, kind, sentence, possible_gain_percent: null }]
  })
}

/** The key with the largest gain according to the platform, else by its usual weight. */
function missingKey(
  { keys }: EventQuality,
  ours: EventNameCoverage,
  matchKeys: readonly MatchKey[],
): MatchAdvice[] {
  const sent = (key: string) => ours.keys[key] ?? 0
  const missing = matchKeys.filter(({ key, enoughPercent }) => sent(key) < enoughPercent)
  const gainOf = (key: string) =>
    keys.find(quality => quality.key === key)?.possibleGainPercent ?? 0
  const [best] = missing.toSorted((a, b) => gainOf(b.key) - gainOf(a.key))
  if (!best) return []
  const { key, from } = best
  const gain = gainOf(key) > 0 ? gainOf(key) : null
  const share = sent(key) === 0 ? 'none has it' : `${sent(key)} % have it`
  const why =
    gain === null
      ? 'of the missing keys it usually improves the match most'
      : `the platform expects up to ${gain} % more matched conversions`
  return [
    {
      event_name: ours.event_name,
      key,
      kind: 'send_more',
      sentence: `${displayName(ours)}: send ${from} with more events; now ${share}, and ${why}.`,
      possible_gain_percent: gain,
    },
  ]
}

/** Identifiers to name for one event name. A longer list is not read. */
const MISSING_KEYS_MAX = 3

/**
 * What to send more often by the coverage of now: it needs no score of the platform. `told` is the
 * advice of the newest score, which has the gain that the platform expects for some identifier.
 */
export function adviseMissingKeys(
  coverage: readonly EventNameCoverage[],
  matchKeys: readonly MatchKey[],
  told: readonly Pick<MatchAdvice, 'event_name' | 'key' | 'possible_gain_percent'>[],
): MatchAdvice[] {
  return coverage.slice(0, NAMES_MAX).flatMap(ours =>
    matchKeys
      .filter(({ key, enoughPercent }) => (ours.keys[key] ?? 0) < enoughPercent)
      .map(({ key, from }) => {
        const same = told.find(one => one.event_name === ours.event_name && one.key === key)
        const gain = same?.possible_gain_percent ?? null
        const sentence = `${displayName(ours)}: ${describeMissing(ours, key)}: send ${from}. `
        const effect =
          gain === null
            ? 'The platform can match these events by it then; it names no expected gain.'
            : `The platform expects up to ${gain} % more matched conversions.`
        const kind = 'send_more' as const
        return {
          event_name: ours.event_name,
          key,
          kind,
          sentence: `${sentence}${effect}`,
          possible_gain_percent: gain,
        }
      })
      .toSorted((a, b) => (b.possible_gain_percent ?? 0) - (a.possible_gain_percent ?? 0))
      .slice(0, MISSING_KEYS_MAX),
  )
}

function describeMissing({ events, keys }: EventNameCoverage, key: string): string {
  const share = keys[key] ?? 0
  if (share === 0) return events === 1 ? `the event has no ${key}` : `no event has ${key}`
  return `${Math.round((100 - share) * 10) / 10} % of ${events} events have no ${key}`
}

/** Names come from callers, so they are reduced to one short line. */
function displayName({ event_name: name }: EventNameCoverage): string {
  return name.replace(/[\p{C}\p{Z}]+/gu, ' ').slice(0, NAME_CHARACTERS_MAX)
}

interface MatchAlertChanges {
  raised: Pick<Alert, 'kind' | 'sentence' | 'details'>[]
  resolved: Alert['kind'][]
}

interface SnapshotInput {
  assessment: MatchAssessment
  coverage: readonly EventNameCoverage[]
  /** Our coverage in the snapshot of a week earlier; empty when there is none. */
  coverageBefore: readonly EventNameCoverage[]
  /** Decimal text: a score below it is low. */
  scoreMin: string
}

const POINTS_FALLEN_MIN = 10

/**
 * The alerts that a snapshot raises and resolves. Without a snapshot of a week earlier a fall is
 * unknown, so that alert stays as it is.
 */
export function evaluateMatchAlerts(snapshot: SnapshotInput): MatchAlertChanges {
  const { score, weekOverWeekChange, hasFallen, isLow } = snapshot.assessment
  const details = { score, week_over_week_change: weekOverWeekChange }
  const alerts: MatchAlertChanges = { raised: [], resolved: [] }
  if (hasFallen) {
    const fall = weekOverWeekChange?.slice(1)
    const fallSentence = `The event match quality fell by ${fall} to ${score} within a week.`
    const sentence = `${fallSentence} ${explainFall(snapshot)}`
    alerts.raised.push({ kind: 'emq_fell', sentence, details })
  }
  if (hasFallen === false) alerts.resolved.push('emq_fell')
  if (isLow) {
    const sentence =
      `The event match quality is ${score}, and below ${formatScore(snapshot.scoreMin)} the ` +
      'platform finds too few of your customers: follow the advice in the newest snapshot of ' +
      'getEmqReport.'
    alerts.raised.push({ kind: 'emq_low', sentence, details })
  } else alerts.resolved.push('emq_low')
  return alerts
}

function formatScore(decimal: string): string {
  return formatMillionths(toMillionths(decimal))
}

/** The key with the largest drop, of the first event name in both snapshots. */
function explainFall({ coverage, coverageBefore }: SnapshotInput): string {
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
    return `Fewer events have ${key} than a week ago, ${shares}: send it again.`
  }
  return 'Our events have the same keys as a week ago: look at other senders to the dataset.'
}
