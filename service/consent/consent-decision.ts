import type { IngestionWarning } from '@signalbox/contract/submissions.ts'
import { isObject, type UntrustedObject } from '../util/is-object.ts'
import { readAdvertisingConsent } from './advertising-consent.ts'
import {
  buildCaptureWarnings,
  type CapturedAt,
  type ConsentContext,
  parseCapturedAt,
} from './captured-at.ts'
import { readConsentMode } from './consent-mode.ts'
import type { ConsentSignal, ConsentState } from './consent-signal.ts'
import { readGlobalPrivacyControl } from './global-privacy-control.ts'
import { readTcfConsent } from './tcf-consent.ts'

/** Counts up with the rules of this room; read as `consent_normalization_version`. */
export const CONSENT_RULES_VERSION = '1'

/** The members of a submitted event that the decision reads (spec, createEvent). */
export interface ConsentInputs {
  event_name: string
  consent_basis: 'consent' | 'legitimate_interest'
  consent?: UntrustedObject | undefined
  consent_mode?: UntrustedObject | undefined
  tcf?: UntrustedObject | undefined
}

/** What each input said. Global Privacy Control comes inside `consent` and is read beside it. */
export type ConsentSignals = Record<ConsentSource | 'gpc', ConsentSignal>

/** What every decision carries. It is plain JSON, free of the caller's own text, to be stored. */
interface DecisionBase {
  granted_by: ConsentSource[]
  denied_by: (DeniedBy | 'gpc_opt_out')[]
  inputs: ConsentSignals
  rules_version: typeof CONSENT_RULES_VERSION
  warnings: IngestionWarning[]
}

/** Deliver. `captured_at` is the latest time at which one of the granting inputs was captured. */
export interface ConsentGranted extends DecisionBase {
  outcome: 'granted'
  reason: GrantedBy | 'attested_by_basis'
  captured_at: string | null
  denied_field: null
}

/** Store the event and skip its deliveries: there are signals, and none of them can be read. */
interface ConsentWithheld extends DecisionBase {
  outcome: 'withheld'
  reason: 'no_signal'
  captured_at: null
  denied_field: null
}

/** Refuse the request (422) on `denied_field`, the dotted path of the member that denies. */
interface ConsentDenied extends DecisionBase {
  outcome: 'denied'
  reason: DenialReason | 'gpc_opt_out'
  captured_at: null
  denied_field: string
}

/** Keep in the ledger alone: no deliveries, no attributed join. */
interface ConsentLedgerOnly extends DecisionBase {
  outcome: 'ledger_only'
  reason: 'legitimate_interest' | 'consent_withdrawal'
  captured_at: null
  denied_field: null
}

export type ConsentDecision = ConsentGranted | ConsentWithheld | ConsentDenied | ConsentLedgerOnly

/**
 * Decides what may be done with one submitted event (decisions, section 3; domain reference,
 * section E). It reads no clock and no table, so the same submission at the same moment always gets
 * the same answer, and the answer can be replayed when someone asks why. Never throws.
 *
 * A `consent_withdrawal` is never delivered, even when it comes on the basis of consent: sending
 * the person's identity to a platform is what the withdrawal ends, and the refusal that it may
 * carry is no contradiction to answer with 422.
 */
export function decideConsent(inputs: ConsentInputs, moment: ConsentContext): ConsentDecision {
  if (inputs.consent_basis === 'legitimate_interest') return keepInLedger('legitimate_interest')
  if (inputs.event_name === 'consent_withdrawal') return keepInLedger('consent_withdrawal')

  const captured = parseCapturedAt(toObject(inputs.consent)?.captured_at)
  const readings = readSignals(inputs, captured, moment.receivedAt)
  const verdict = combineConsentStates(toStates(readings))
  const grounds = buildDecisionBase(readings, verdict)
  if (readings.gpc.state === 'denied') return denyForGpc(readings.gpc.field, grounds)
  if (verdict.decision === 'denied' && verdict.reason !== 'no_signal') {
    const denied_field = readings[verdict.denier].field
    return { ...grounds, outcome: 'denied', reason: verdict.reason, denied_field }
  }

  const warnings = buildCaptureWarnings(captured, moment)
  if (verdict.decision === 'granted') {
    const captured_at = findLatestTime(
      grounds.granted_by.map(source => readings[source].captured_at),
    )
    return { ...grounds, outcome: 'granted', reason: verdict.reason, captured_at, warnings }
  }
  // The basis is the caller's word for a grant; a signal that we cannot read outweighs the word.
  if (!hasNoSignal(readings)) {
    return { ...grounds, outcome: 'withheld', reason: 'no_signal', warnings }
  }
  const { captured_at } = readings.consent
  return { ...grounds, outcome: 'granted', reason: 'attested_by_basis', captured_at, warnings }
}

function toObject(value: unknown): UntrustedObject | undefined {
  return isObject(value) ? value : undefined
}

function readSignals(
  inputs: ConsentInputs,
  captured: CapturedAt,
  receivedAt: Date,
): ConsentSignals {
  const consentObject = toObject(inputs.consent)
  const consent = readAdvertisingConsent(consentObject, captured, receivedAt)
  return {
    consent,
    tcf: readTcfConsent(toObject(inputs.tcf), receivedAt),
    consent_mode: readConsentMode(toObject(inputs.consent_mode), captured, receivedAt),
    gpc: readGlobalPrivacyControl(consentObject, consent, receivedAt),
  }
}

function toStates({ consent, tcf, consent_mode }: ConsentSignals): ConsentStates {
  return { consent: consent.state, tcf: tcf.state, consent_mode: consent_mode.state }
}

/** The members that most outcomes share; an outcome overrides what it fills in. */
function buildDecisionBase(inputs: ConsentSignals, { detail }: CombinedConsent) {
  const { granted_by, denied_by } = detail
  const rules_version = CONSENT_RULES_VERSION
  const nothing = { captured_at: null, denied_field: null, warnings: [] }
  return { granted_by, denied_by, inputs, rules_version, ...nothing } satisfies DecisionBase
}

function denyForGpc(
  denied_field: string,
  grounds: ReturnType<typeof buildDecisionBase>,
): ConsentDenied {
  const denied_by: ConsentDenied['denied_by'] = ['gpc_opt_out', ...grounds.denied_by]
  return { ...grounds, outcome: 'denied', reason: 'gpc_opt_out', denied_by, denied_field }
}

function keepInLedger(reason: ConsentLedgerOnly['reason']): ConsentLedgerOnly {
  return {
    outcome: 'ledger_only',
    reason,
    granted_by: [],
    denied_by: [],
    inputs: {
      consent: unreadSignal('consent'),
      tcf: unreadSignal('tcf'),
      consent_mode: unreadSignal('consent_mode'),
      gpc: unreadSignal('consent.gpc'),
    },
    rules_version: CONSENT_RULES_VERSION,
    captured_at: null,
    denied_field: null,
    warnings: [],
  }
}

/** The decision does not depend on this input, so nobody looks at it. */
function unreadSignal(field: string): ConsentSignal {
  return { state: 'unknown', why: 'not_read', field, captured_at: null }
}

/** Both are UTC in one format, so the later text is the later time. */
function findLatestTime(times: (string | null)[]): string | null {
  return times.reduce((latest, time) => ((time ?? '') > (latest ?? '') ? time : latest), null)
}

function hasNoSignal(readings: ConsentSignals): boolean {
  return CONSENT_SOURCES.every(source => readings[source].why === 'no_signal')
}

/** The three inputs, in the order in which they are named and give the reason. */
const CONSENT_SOURCES = ['consent', 'tcf', 'consent_mode'] as const

type ConsentSource = (typeof CONSENT_SOURCES)[number]
type ConsentStates = Record<ConsentSource, ConsentState>
type GrantedBy = `granted_by_${ConsentSource}`
type DeniedBy = `${ConsentSource}_denied`

/** The first input that denied, unless another one granted. */
type DenialReason = DeniedBy | 'conflicting_signals'

type CombinedConsent =
  | { decision: 'granted'; reason: GrantedBy; detail: CombinedConsentDetail }
  | {
      decision: 'denied'
      reason: DenialReason
      denier: ConsentSource
      detail: CombinedConsentDetail
    }
  | { decision: 'denied'; reason: 'no_signal'; detail: CombinedConsentDetail }

interface CombinedConsentDetail {
  denied_by: DeniedBy[]
  granted_by: ConsentSource[]
}

/**
 * The table of 27 rows: any denied input wins, at least one granted is needed, unknown never
 * grants. Source: domain reference, section E; vectors/consent-decision-table.json.
 */
export function combineConsentStates(states: ConsentStates): CombinedConsent {
  const granted_by = CONSENT_SOURCES.filter(source => states[source] === 'granted')
  const deniers = CONSENT_SOURCES.filter(source => states[source] === 'denied')
  const detail = { denied_by: deniers.map(toDenialReason), granted_by }
  const [denier] = deniers
  const [granter] = granted_by
  if (denier !== undefined) {
    const reason = granter === undefined ? toDenialReason(denier) : 'conflicting_signals'
    return { decision: 'denied', reason, denier, detail }
  }
  if (granter === undefined) return { decision: 'denied', reason: 'no_signal', detail }
  return { decision: 'granted', reason: `granted_by_${granter}`, detail }
}

function toDenialReason(source: ConsentSource): DeniedBy {
  return `${source}_denied`
}
