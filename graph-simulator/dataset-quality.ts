import { invalidQueryParameter } from './graph-errors.ts'
import { toHour } from './hourly-buckets.ts'
import { MATCH_KEYS, type MatchKey, type MatchKeyCount } from './match-keys.ts'
import type { ReportRequest, ReportResult } from './report-requests.ts'
import type { SimulatorState } from './simulator-state.ts'

const HOURS_REPORTED = 7 * 24

const SHARE: FieldTree = { percentage: null, description: null }

/** The documented fields (Meta "Dataset Quality API"). The simulator never returns some of them. */
const KNOWN_FIELDS: FieldTree = {
  web: {
    event_name: null,
    event_match_quality: {
      composite_score: null,
      match_key_feedback: {
        identifier: null,
        coverage: { percentage: null },
        potential_aly_acr_increase: SHARE,
      },
      diagnostics: {
        name: null,
        description: null,
        solution: null,
        percentage: null,
        affected_event_count: null,
        total_event_count: null,
      },
    },
    event_coverage: { ...SHARE, goal_percentage: null },
    dedupe_key_feedback: {
      dedupe_key: null,
      browser_events_with_dedupe_key: SHARE,
      server_events_with_dedupe_key: SHARE,
      overall_browser_coverage_from_dedupe_key: SHARE,
    },
    data_freshness: { upload_frequency: null, description: null },
    acr: SHARE,
    event_potential_aly_acr_increase: SHARE,
  },
}

/** GET /{version}/dataset_quality?dataset_id=&fields=web{...}: match quality by event name. */
export function readDatasetQuality(
  state: SimulatorState,
  { dataset, query }: ReportRequest,
): ReportResult {
  if (query.has('agent_name')) return queryError('(#100) Entries by agent_name are not simulated.')
  const requested = parseFieldExpression(query.get('fields') ?? '')
  if (!requested)
    return queryError('(#100) The parameter fields must be an expression such as web{...}.')
  const unknown = findUnknownField(requested, KNOWN_FIELDS)
  if (unknown) return queryError(`(#100) Tried accessing nonexistent field (${unknown})`)
  if (!state.counts.hasDataset(dataset)) return queryError('(#100) Permission Denied')
  return { body: selectFields({ web: qualityEntries(state, dataset) }, requested) as object }
}

function qualityEntries(state: SimulatorState, dataset: string): object[] {
  const now = state.now()
  const until = toHour(now) + 1
  const counts = state.counts.countsByName(dataset, until - HOURS_REPORTED, until)
  return [...state.matchKeys.lastWeek(dataset, now)].map(([eventName, count]) =>
    qualityEntry(eventName, count, counts.get(eventName) ?? { server: 0, browser: 0 }),
  )
}

function queryError(message: string): ReportResult {
  return { error: invalidQueryParameter(message) }
}

/** Server and browser events of one name in the reported days. */
interface Coverage {
  server: number
  browser: number
}

const HOUR_SECONDS = 3_600
/** Meta's goal for the share of events from a server ("Dataset Quality API"). */
const GOAL_PERCENT = 75

/** One entry of `web`, for one event name. Wire names throughout. */
function qualityEntry(eventName: string, count: MatchKeyCount, coverage: Coverage) {
  return {
    event_name: eventName,
    event_match_quality: {
      composite_score: compositeScore(count),
      match_key_feedback: MATCH_KEYS.flatMap((key, index) =>
        keyFeedback(key, keyShare(count, index)),
      ),
      ...findDiagnostics(count),
    },
    ...eventCoverage(coverage),
    data_freshness: dataFreshness(count),
  }
}

/** The points of each key, weighted by the share of events with it: 0 to 10, one decimal. */
function compositeScore(count: MatchKeyCount): number {
  const points = MATCH_KEYS.map(({ points }, index) => points * keyShare(count, index))
  return roundToTenth(points.reduce((sum, each) => sum + each, 0))
}

function keyShare({ events, presentIn: carrying }: MatchKeyCount, index: number): number {
  return (carrying[index] ?? 0) / events
}

function keyFeedback({ identifier, points, isRecommended }: MatchKey, share: number): object[] {
  if (share === 0 && !isRecommended) return []
  const gain = roundToTenth(points * (1 - share) * 10)
  const advice = {
    percentage: gain,
    description: `Sending ${identifier} with every event may bring ${gain}% more conversions.`,
  }
  return [
    {
      identifier,
      coverage: { percentage: roundToTenth(share * 100) },
      ...(isRecommended && share < 1 && { potential_aly_acr_increase: advice }),
    },
  ]
}

/** One diagnostic for events without an email address; none when all have one. */
function findDiagnostics(count: MatchKeyCount): object {
  const index = MATCH_KEYS.findIndex(({ key }) => key === 'em')
  const affected = count.events - (count.presentIn[index] ?? 0)
  if (affected === 0) return {}
  const diagnostic = {
    name: 'Email is missing',
    description: 'Some events carry no email address.',
    solution: 'Send a hashed email address with every event.',
    percentage: roundToTenth((affected / count.events) * 100),
    affected_event_count: affected,
    total_event_count: count.events,
  }
  return { diagnostics: [diagnostic] }
}

/** The ratio of server to browser events; empty without browser events. */
function eventCoverage({ server, browser }: Coverage): object {
  if (browser === 0) return {}
  const percentage = roundToTenth(Math.min(100, (server / browser) * 100))
  const description = 'Server events compared with browser events, over 7 days.'
  return { event_coverage: { percentage, goal_percentage: GOAL_PERCENT, description } }
}

function dataFreshness({ events, delaySeconds }: MatchKeyCount) {
  const meanSeconds = delaySeconds / events
  const upload_frequency =
    meanSeconds < HOUR_SECONDS ? 'real_time' : meanSeconds < 24 * HOUR_SECONDS ? 'hourly' : 'daily'
  return { upload_frequency, description: 'How soon events arrive after event_time.' }
}

/** Rounds half a tenth up, even when a floating-point sum is slightly below it. */
function roundToTenth(value: number): number {
  return Math.round(value * 10 + 1e-6) / 10
}

/** Requested fields with their requested subfields; null: all subfields. */
interface FieldTree {
  [name: string]: FieldTree | null
}

const CHARACTERS_MAX = 10_000
const DEPTH_MAX = 10
const TOKENS = /[A-Za-z0-9_]+|[{},]/g
const WELL_FORMED = /^[A-Za-z0-9_{},\s]+$/

/**
 * Parses Graph's field expansion, such as `web{event_name,acr{percentage}}` (Graph API "Field
 * Expansion"). Undefined when it is malformed.
 */
function parseFieldExpression(text: string): FieldTree | undefined {
  if (text.length > CHARACTERS_MAX || !WELL_FORMED.test(text)) return undefined
  const tokens = text.match(TOKENS) ?? []
  const cursor = { tokens, at: 0 }
  const tree = parseNames(cursor, 0)
  return cursor.at === tokens.length ? tree : undefined
}

/** The first requested field that is not in `known`, if any. */
function findUnknownField(requested: FieldTree, known: FieldTree): string | undefined {
  for (const [name, subfields] of Object.entries(requested)) {
    if (!Object.hasOwn(known, name)) return name
    const unknown = subfields && findUnknownField(subfields, known[name] ?? {})
    if (unknown) return unknown
  }
  return undefined
}

/** The value with only the requested fields, also within lists. */
function selectFields(value: unknown, requested: FieldTree | null): unknown {
  if (requested === null || typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(item => selectFields(item, requested))
  const members = Object.entries(value).filter(([name]) => Object.hasOwn(requested, name))
  return Object.fromEntries(
    members.map(([name, member]) => [name, selectFields(member, requested[name] ?? null)]),
  )
}

interface TokenCursor {
  tokens: string[]
  at: number
}

/** `name` or `name{...}`, separated by commas; undefined at the first syntax error. */
function parseNames(cursor: TokenCursor, depth: number): FieldTree | undefined {
  if (depth > DEPTH_MAX) return undefined
  const tree: FieldTree = Object.create(null)
  while (true) {
    const name = cursor.tokens[cursor.at++]
    if (name === undefined || !/^\w+$/.test(name)) return undefined
    tree[name] = null
    if (cursor.tokens[cursor.at] === '{') {
      cursor.at++
      const subfields = parseNames(cursor, depth + 1)
      if (!subfields || cursor.tokens[cursor.at++] !== '}') return undefined
      tree[name] = subfields
    }
    if (cursor.tokens[cursor.at] !== ',') return tree
    cursor.at++
  }
}
