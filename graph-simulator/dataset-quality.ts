import { type GraphError, invalidQueryParameter } from './graph-errors.ts'
import { hourOf } from './hourly-buckets.ts'
import { MATCH_KEYS, type MatchKey, type MatchKeyCount } from './match-keys.ts'
import type { ReportRequest } from './report-requests.ts'
import type { SimulatorState } from './simulator-state.ts'

const HOURS_REPORTED = 7 * 24

const SHARE: FieldTree = { percentage: null, description: null }

/** What the edge knows (Meta "Dataset Quality API"); some of it this simulator never has. */
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

/** GET /{version}/dataset_quality?dataset_id=&fields=web{...}: what the received keys are worth. */
export function readDatasetQuality(
  state: SimulatorState,
  { dataset, query }: ReportRequest,
): { body: object } | { refusal: GraphError } {
  if (query.has('agent_name')) return queryError('(#100) Entries by agent_name are not simulated.')
  const asked = parseFieldExpression(query.get('fields') ?? '')
  if (!asked)
    return queryError('(#100) The parameter fields must be an expression such as web{...}.')
  const unknown = findUnknownField(asked, KNOWN_FIELDS)
  if (unknown) return queryError(`(#100) Tried accessing nonexistent field (${unknown})`)
  if (!state.counts.knows(dataset)) return queryError('(#100) Permission Denied')
  return { body: selectFields({ web: qualityEntries(state, dataset) }, asked) as object }
}

function qualityEntries(state: SimulatorState, dataset: string): object[] {
  const now = state.now()
  const until = hourOf(now) + 1
  const given = state.counts.given(dataset, until - HOURS_REPORTED, until)
  return [...state.matchKeys.week(dataset, now)].map(([eventName, count]) =>
    qualityEntry(eventName, count, given.get(eventName) ?? { server: 0, browser: 0 }),
  )
}

function queryError(message: string) {
  return { refusal: invalidQueryParameter(message) }
}

/** The events of one name that servers and browsers gave in the reported days. */
interface Coverage {
  server: number
  browser: number
}

const HOUR_SECONDS = 3_600
/** Meta's goal for the share of events that a server gives ("Dataset Quality API"). */
const GOAL_PERCENT = 75

/** One entry of `web`: what the quality edge says of one event name. Wire names throughout. */
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

/** Each key's points, as far as events carry it: 0 to 10, with one decimal. */
function compositeScore(count: MatchKeyCount): number {
  const points = MATCH_KEYS.map(({ points }, index) => points * keyShare(count, index))
  return roundToTenth(points.reduce((sum, each) => sum + each, 0))
}

function keyShare({ events, carrying }: MatchKeyCount, index: number): number {
  return (carrying[index] ?? 0) / events
}

function keyFeedback(
  { identifier, points, isRecommended: isAdvised }: MatchKey,
  share: number,
): object[] {
  if (share === 0 && !isAdvised) return []
  const gain = roundToTenth(points * (1 - share) * 10)
  const advice = {
    percentage: gain,
    description: `Sending ${identifier} with every event may bring ${gain}% more conversions.`,
  }
  return [
    {
      identifier,
      coverage: { percentage: roundToTenth(share * 100) },
      ...(isAdvised && share < 1 && { potential_aly_acr_increase: advice }),
    },
  ]
}

/** There is one diagnostic, for events without an email address; none when all have one. */
function findDiagnostics(count: MatchKeyCount): object {
  const index = MATCH_KEYS.findIndex(({ key }) => key === 'em')
  const affected = count.events - (count.carrying[index] ?? 0)
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

/** How much of what browsers gave servers gave too; nothing to compare without a browser. */
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
  return { upload_frequency, description: 'How soon after it happened an event is sent.' }
}

/** Half a tenth goes up, also where the sum of fractions is a hair below it. */
function roundToTenth(value: number): number {
  return Math.round(value * 10 + 1e-6) / 10
}

/** Names asked for, each with what is asked for below it; null: whatever there is. */
interface FieldTree {
  [name: string]: FieldTree | null
}

const CHARACTERS_MAX = 10_000
const DEPTH_MAX = 10
const TOKENS = /[A-Za-z0-9_]+|[{},]/g
const WELL_FORMED = /^[A-Za-z0-9_{},\s]+$/

/**
 * Reads Graph's field expansion, such as `web{event_name,acr{percentage}}` (Graph API "Field
 * Expansion"). Undefined when it is none.
 */
function parseFieldExpression(text: string): FieldTree | undefined {
  if (text.length > CHARACTERS_MAX || !WELL_FORMED.test(text)) return undefined
  const tokens = text.match(TOKENS) ?? []
  const reading = { tokens, at: 0 }
  const tree = parseNames(reading, 0)
  return reading.at === tokens.length ? tree : undefined
}

/** The first name that `known` does not have in that place; undefined when it has them all. */
function findUnknownField(asked: FieldTree, known: FieldTree): string | undefined {
  for (const [name, below] of Object.entries(asked)) {
    if (!Object.hasOwn(known, name)) return name
    const unknown = below && findUnknownField(below, known[name] ?? {})
    if (unknown) return unknown
  }
  return undefined
}

/** The value with only the members that were asked for; lists are walked through. */
function selectFields(value: unknown, asked: FieldTree | null): unknown {
  if (asked === null || typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(item => selectFields(item, asked))
  const members = Object.entries(value).filter(([name]) => Object.hasOwn(asked, name))
  return Object.fromEntries(
    members.map(([name, member]) => [name, selectFields(member, asked[name] ?? null)]),
  )
}

interface TokenCursor {
  tokens: string[]
  at: number
}

/** `name`, `name{...}`, with commas between; undefined at the first thing that is out of place. */
function parseNames(reading: TokenCursor, depth: number): FieldTree | undefined {
  if (depth > DEPTH_MAX) return undefined
  const tree: FieldTree = Object.create(null)
  while (true) {
    const name = reading.tokens[reading.at++]
    if (name === undefined || !/^\w+$/.test(name)) return undefined
    tree[name] = null
    if (reading.tokens[reading.at] === '{') {
      reading.at++
      const below = parseNames(reading, depth + 1)
      if (!below || reading.tokens[reading.at++] !== '}') return undefined
      tree[name] = below
    }
    if (reading.tokens[reading.at] !== ',') return tree
    reading.at++
  }
}
