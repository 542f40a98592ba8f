import type { MatchKeyCount } from './match-key-book.ts'
import { MATCH_KEYS, type MatchKey } from './match-keys.ts'

/** The events of one name that servers and browsers gave in the reported days. */
export interface Coverage {
  server: number
  browser: number
}

const HOUR_SECONDS = 3_600
/** Meta's goal for the share of events that a server gives ("Dataset Quality API"). */
const GOAL_PERCENT = 75

/** One entry of `web`: what the quality edge says of one event name. Wire names throughout. */
export function qualityEntry(eventName: string, count: MatchKeyCount, coverage: Coverage) {
  return {
    event_name: eventName,
    event_match_quality: {
      composite_score: compositeScore(count),
      match_key_feedback: MATCH_KEYS.flatMap((key, index) =>
        feedbackOf(key, shareOf(count, index)),
      ),
      ...diagnosticsOf(count),
    },
    ...coverageOf(coverage),
    data_freshness: freshnessOf(count),
  }
}

/** Each key's points, as far as events carry it: 0 to 10, with one decimal. */
function compositeScore(count: MatchKeyCount): number {
  const points = MATCH_KEYS.map(({ points }, index) => points * shareOf(count, index))
  return oneDecimal(points.reduce((sum, each) => sum + each, 0))
}

function shareOf({ events, carrying }: MatchKeyCount, index: number): number {
  return (carrying[index] ?? 0) / events
}

function feedbackOf({ identifier, points, isAdvised }: MatchKey, share: number): object[] {
  if (share === 0 && !isAdvised) return []
  const gain = oneDecimal(points * (1 - share) * 10)
  const advice = {
    percentage: gain,
    description: `Sending ${identifier} with every event may bring ${gain}% more conversions.`,
  }
  return [
    {
      identifier,
      coverage: { percentage: oneDecimal(share * 100) },
      ...(isAdvised && share < 1 && { potential_aly_acr_increase: advice }),
    },
  ]
}

/** There is one diagnostic, for events without an email address; none when all have one. */
function diagnosticsOf(count: MatchKeyCount): object {
  const index = MATCH_KEYS.findIndex(({ key }) => key === 'em')
  const affected = count.events - (count.carrying[index] ?? 0)
  if (affected === 0) return {}
  const diagnostic = {
    name: 'Email is missing',
    description: 'Some events carry no email address.',
    solution: 'Send a hashed email address with every event.',
    percentage: oneDecimal((affected / count.events) * 100),
    affected_event_count: affected,
    total_event_count: count.events,
  }
  return { diagnostics: [diagnostic] }
}

/** How much of what browsers gave servers gave too; nothing to compare without a browser. */
function coverageOf({ server, browser }: Coverage): object {
  if (browser === 0) return {}
  const percentage = oneDecimal(Math.min(100, (server / browser) * 100))
  const description = 'Server events compared with browser events, over 7 days.'
  return { event_coverage: { percentage, goal_percentage: GOAL_PERCENT, description } }
}

function freshnessOf({ events, delaySeconds }: MatchKeyCount) {
  const meanSeconds = delaySeconds / events
  const upload_frequency =
    meanSeconds < HOUR_SECONDS ? 'real_time' : meanSeconds < 24 * HOUR_SECONDS ? 'hourly' : 'daily'
  return { upload_frequency, description: 'How soon after it happened an event is sent.' }
}

/** Half a tenth goes up, also where the sum of fractions is a hair below it. */
function oneDecimal(value: number): number {
  return Math.round(value * 10 + 1e-6) / 10
}
