import { objectOrEmpty } from '../../../../runtime/util/is-object.ts'
import type { EventQuality, KeyQuality, MatchQuality } from '../../platform.ts'
import { redactToken } from '../graph-api.ts'
import { type ReportBody, toStorableText } from './report-answer.ts'

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
