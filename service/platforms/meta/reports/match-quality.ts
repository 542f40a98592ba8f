import type { EventQuality, KeyQuality, MatchQuality } from '../../platform.ts'
import { type ReportBody, toStorableText } from './report-answer.ts'

const SHARE = '{percentage,description}'

/** All that the edge is known to have (Meta: "Dataset Quality API"). */
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
 * Reads the answer of the quality edge. An entry without a score is left out, as Meta's is for an
 * event that is new; null when the body, or a score in it, is not what such a thing is.
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

/** Undefined without a score; null when it cannot be believed. */
function readEntry(entry: unknown): EventQuality | undefined | null {
  const { event_name: eventName, event_match_quality } = membersOf(entry)
  if (typeof eventName !== 'string' || eventName === '') return null
  const quality = membersOf(event_match_quality)
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

/** A key whose coverage cannot be read says nothing; the score stands without it. */
function readKey(feedback: unknown): KeyQuality[] {
  const { identifier, coverage, potential_aly_acr_increase: gain } = membersOf(feedback)
  const coveragePercent = readNumber(membersOf(coverage).percentage, PERCENT_MAX)
  if (typeof identifier !== 'string' || identifier === '' || coveragePercent === null) return []
  const possibleGainPercent = readNumber(membersOf(gain).percentage, Number.MAX_SAFE_INTEGER)
  return [{ key: KEYS.get(identifier) ?? identifier, coveragePercent, possibleGainPercent }]
}

/** Each diagnostic says of how many events it speaks; the largest of them is all of them. */
function readEventCount(diagnostics: unknown[]): number | null {
  const counts = diagnostics
    .map(diagnostic => readNumber(membersOf(diagnostic).total_event_count, Number.MAX_SAFE_INTEGER))
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
  if (typeof value === 'string') return withoutToken(toStorableText(value), accessToken)
  if (Array.isArray(value)) return value.map(item => toStorable(item, accessToken, depth + 1))
  if (typeof value !== 'object' || value === null) return value
  const members = Object.entries(value).map(([name, member]): [string, unknown] => [
    withoutToken(toStorableText(name), accessToken),
    toStorable(member, accessToken, depth + 1),
  ])
  return Object.fromEntries(members)
}

function withoutToken(text: string, token: string): string {
  return token === '' ? text : text.replaceAll(token, '[redacted]')
}

function membersOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
}

function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : []
}
