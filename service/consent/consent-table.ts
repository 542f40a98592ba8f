import type { ConsentState } from './consent-reading.ts'

/** The three inputs, in the order in which they are named and give the reason. */
export const CONSENT_SOURCES = ['consent', 'tcf', 'consent_mode'] as const

export type ConsentSource = (typeof CONSENT_SOURCES)[number]
export type ConsentStates = Record<ConsentSource, ConsentState>
export type GrantedBy = `granted_by_${ConsentSource}`
export type DeniedBy = `${ConsentSource}_denied`

/** The first input that denied, unless another one granted. */
export type DenialReason = DeniedBy | 'conflicting_signals'

export type ConsentVerdict =
  | { decision: 'granted'; reason: GrantedBy; detail: ConsentDetail }
  | { decision: 'denied'; reason: DenialReason; denier: ConsentSource; detail: ConsentDetail }
  | { decision: 'denied'; reason: 'no_signal'; detail: ConsentDetail }

export interface ConsentDetail {
  denied_by: DeniedBy[]
  granted_by: ConsentSource[]
}

/**
 * The table of 27 rows: any denied input wins, at least one granted is needed, unknown never
 * grants. Source: domain reference, section E; vectors/consent-decision-table.json.
 */
export function combineConsentStates(states: ConsentStates): ConsentVerdict {
  const granted_by = CONSENT_SOURCES.filter(source => states[source] === 'granted')
  const deniers = CONSENT_SOURCES.filter(source => states[source] === 'denied')
  const detail = { denied_by: deniers.map(deniedBy), granted_by }
  const [denier] = deniers
  const [granter] = granted_by
  if (denier !== undefined) {
    const reason = granter === undefined ? deniedBy(denier) : 'conflicting_signals'
    return { decision: 'denied', reason, denier, detail }
  }
  if (granter === undefined) return { decision: 'denied', reason: 'no_signal', detail }
  return { decision: 'granted', reason: `granted_by_${granter}`, detail }
}

function deniedBy(source: ConsentSource): DeniedBy {
  return `${source}_denied`
}
