import {
  type FieldTree,
  readFieldExpression,
  selectFields,
  unknownField,
} from './field-expression.ts'
import type { ReadingRequest } from './graph-reading.ts'
import { badParameter, type GraphRefusal } from './graph-refusal.ts'
import { hourOf } from './hour-book.ts'
import { qualityEntry } from './quality-report.ts'
import type { SimulatorState } from './simulator-state.ts'

const HOURS_REPORTED = 7 * 24

const SHARE: FieldTree = { percentage: null, description: null }

/** What the edge knows (Meta "Dataset Quality API"); some of it this simulator never has. */
const KNOWN: FieldTree = {
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
export function readQuality(
  state: SimulatorState,
  { dataset, query }: ReadingRequest,
): { body: object } | { refusal: GraphRefusal } {
  if (query.has('agent_name')) return refused('(#100) Entries by agent_name are not simulated.')
  const asked = readFieldExpression(query.get('fields') ?? '')
  if (!asked) return refused('(#100) The parameter fields must be an expression such as web{...}.')
  const unknown = unknownField(asked, KNOWN)
  if (unknown) return refused(`(#100) Tried accessing nonexistent field (${unknown})`)
  if (!state.counts.knows(dataset)) return refused('(#100) Permission Denied')
  return { body: selectFields({ web: entries(state, dataset) }, asked) as object }
}

function entries(state: SimulatorState, dataset: string): object[] {
  const now = state.now()
  const until = hourOf(now) + 1
  const given = state.counts.given(dataset, until - HOURS_REPORTED, until)
  return [...state.matchKeys.week(dataset, now)].map(([eventName, count]) =>
    qualityEntry(eventName, count, given.get(eventName) ?? { server: 0, browser: 0 }),
  )
}

function refused(message: string) {
  return { refusal: badParameter(message) }
}
