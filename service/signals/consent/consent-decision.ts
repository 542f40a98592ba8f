import type { IngestionWarning } from '@signalbox/contract/submissions.ts'
import { isObject, type UntrustedObject } from '../../runtime/util/is-object.ts'
import { readAdvertisingConsent } from './advertising-consent.ts'
import { findPrivacyMembers } from './consent-members.ts'
import { readConsentMode } from './consent-mode.ts'
import {
  buildCaptureWarnings,
  type CapturedAt,
  type ConsentContext,
  type ConsentSignal,
  type ConsentState,
  isCapturedAfterOptOut,
  noSignal,
  parseCapturedAt,
} from './consent-signal.ts'
import { readGlobalPrivacyControl } from './global-privacy-control.ts'
import { readGppStrings } from './gpp-consent.ts'
import { readTcfConsent } from './tcf-consent.ts'

/** Version of the consent rules, stored as `consent_normalization_version`. */
export const CONSENT_RULES_VERSION = '2'

/**
 * The members of a submission that the decision reads. Apart from the basis, nothing has validated
 * them. Global Privacy Control and GPP strings may also be at the top level, under names of any
 * spelling (`findPrivacyMembers`).
 */
export interface ConsentInputs {
  consent_basis: 'consent' | 'legitimate_interest'
  event_name?: unknown
  consent?: unknown
  consent_mode?: unknown
  tcf?: unknown
}

/** The signal of each input. Global Privacy Control is read separately. */
export type ConsentSignals = Record<ConsentSource | 'gpc', ConsentSignal>

/** Members of every decision. Plain JSON without text from the caller, so that it can be stored. */
interface DecisionBase {
  granted_by: ConsentSource[]
  denied_by: (DeniedBy | 'gpc_opt_out')[]
  inputs: ConsentSignals
  rules_version: typeof CONSENT_RULES_VERSION
  warnings: IngestionWarning[]
}

/** Deliver. `captured_at` is the latest capture time of the inputs that granted. */
export interface ConsentGranted extends DecisionBase {
  outcome: 'granted'
  reason: GrantedBy | 'attested_by_basis'
  captured_at: string | null
  denied_field: null
}

/** Store the event and skip its deliveries: there are signals, but none is readable. */
interface ConsentWithheld extends DecisionBase {
  outcome: 'withheld'
  reason: 'no_signal'
  captured_at: null
  denied_field: null
}

/** Reject the request with 422 on `denied_field`, the dotted path of the member that denies. */
interface ConsentDenied extends DecisionBase {
  outcome: 'denied'
  reason: DenialReason | 'gpc_opt_out'
  captured_at: null
  denied_field: string
}

/** Only store the event: no deliveries, no attribution. */
interface ConsentLedgerOnly extends DecisionBase {
  outcome: 'ledger_only'
  reason: 'legitimate_interest' | 'consent_withdrawal'
  captured_at: null
  denied_field: null
}

export type ConsentDecision = ConsentGranted | ConsentWithheld | ConsentDenied | ConsentLedgerOnly

/**
 * Decides whether a submitted event may be delivered. It reads no clock and no database, so a
 * decision can be reproduced and explained later. Never throws.
 *
 * A `consent_withdrawal` is never delivered, even on the basis of consent: it ends the sending of
 * identity to platforms. A denial in it is expected and does not cause a 422.
 */
export function decideConsent(inputs: ConsentInputs, context: ConsentContext): ConsentDecision {
  if (inputs.consent_basis === 'legitimate_interest') return keepInLedger('legitimate_interest')
  if (inputs.event_name === 'consent_withdrawal') return keepInLedger('consent_withdrawal')

  const captured = parseCapturedAt(toObject(inputs.consent)?.captured_at)
  const signals = readSignals(inputs, captured, context)
  const combined = combineConsentStates(toStates(signals))
  const base = buildDecisionBase(signals, combined)
  if (signals.gpc.state === 'denied') return denyForGpc(signals.gpc.field, base)
  if (combined.decision === 'denied' && combined.reason !== 'no_signal') {
    const denied_field = signals[combined.denier].field
    return { ...base, outcome: 'denied', reason: combined.reason, denied_field }
  }

  const warnings = buildCaptureWarnings(captured, context)
  if (combined.decision === 'granted') {
    const captured_at = findLatestTime(base.granted_by.map(source => signals[source].captured_at))
    return { ...base, outcome: 'granted', reason: combined.reason, captured_at, warnings }
  }
  // The basis is the caller's attestation of consent. An unreadable signal outweighs it.
  if (!hasNoSignal(signals)) {
    return { ...base, outcome: 'withheld', reason: 'no_signal', warnings }
  }
  const { captured_at } = signals.consent
  return { ...base, outcome: 'granted', reason: 'attested_by_basis', captured_at, warnings }
}

function toObject(value: unknown): UntrustedObject | undefined {
  return isObject(value) ? value : undefined
}

function readSignals(
  inputs: ConsentInputs,
  captured: CapturedAt,
  context: ConsentContext,
): ConsentSignals {
  const { receivedAt, settings, hasGpcHeader } = context
  const consentObject = toObject(inputs.consent)
  const consentMode = toObject(inputs.consent_mode)
  const tcf = toObject(inputs.tcf)
  // Most events have no more than one of these.
  const members = findPrivacyMembers(inputs)
  const gpp = members.gpp.length > 0 ? readGppStrings(members.gpp) : null
  const gppTcStrings = gpp?.tcStrings ?? []
  const consent =
    consentObject || gpp
      ? readAdvertisingConsent(consentObject, { captured, receivedAt, gpp })
      : noSignal('consent')
  return {
    consent,
    tcf:
      tcf || gppTcStrings.length > 0
        ? readTcfConsent(tcf, receivedAt, { gppTcStrings, settings })
        : noSignal('tcf'),
    consent_mode: consentMode
      ? readConsentMode(consentMode, captured, receivedAt)
      : noSignal('consent_mode'),
    gpc:
      members.gpc.length > 0 || hasGpcHeader
        ? readGlobalPrivacyControl(members.gpc, {
            hasHeader: hasGpcHeader,
            advertisingConsent: consent,
            receivedAt,
          })
        : noSignal('consent.gpc'),
  }
}

function toStates({ consent, tcf, consent_mode }: ConsentSignals): ConsentStates {
  return { consent: consent.state, tcf: tcf.state, consent_mode: consent_mode.state }
}

/** Members shared by most outcomes. */
function buildDecisionBase(inputs: ConsentSignals, { detail }: CombinedConsent) {
  return {
    granted_by: detail.granted_by,
    denied_by: detail.denied_by,
    inputs,
    rules_version: CONSENT_RULES_VERSION,
    captured_at: null,
    denied_field: null,
    warnings: [],
  } satisfies DecisionBase & { captured_at: null; denied_field: null }
}

function denyForGpc(
  denied_field: string,
  base: ReturnType<typeof buildDecisionBase>,
): ConsentDenied {
  const denied_by: ConsentDenied['denied_by'] = ['gpc_opt_out', ...base.denied_by]
  return { ...base, outcome: 'denied', reason: 'gpc_opt_out', denied_by, denied_field }
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

/** The decision does not depend on this input. */
function unreadSignal(field: string): ConsentSignal {
  return { state: 'unknown', why: 'not_read', field, captured_at: null }
}

/** All times are UTC in one format, so the later text is the later time. */
function findLatestTime(times: (string | null)[]): string | null {
  return times.reduce((latest, time) => ((time ?? '') > (latest ?? '') ? time : latest), null)
}

function hasNoSignal(signals: ConsentSignals): boolean {
  return CONSENT_SOURCES.every(source => signals[source].why === 'no_signal')
}

/** The three inputs, in the order in which they determine the reason. */
const CONSENT_SOURCES = ['consent', 'tcf', 'consent_mode'] as const

type ConsentSource = (typeof CONSENT_SOURCES)[number]
type ConsentStates = Record<ConsentSource, ConsentState>
type GrantedBy = `granted_by_${ConsentSource}`
type DeniedBy = `${ConsentSource}_denied`

/** The first input that denied, or `conflicting_signals` if another one granted. */
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
 * The decision table of 27 rows (vectors/consent-decision-table.json): any denied input denies, at
 * least one granted input is needed to grant, and unknown never grants.
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

type WithdrawalCheck = { allowed: true } | { allowed: false; reason: 'consent_withdrawn' }

/** A granted decision, new or stored with the event. */
export type ConsentGrant = Pick<ConsentGranted, 'reason' | 'captured_at'>

/** The times that decide whether a withdrawal blocks an event. */
export interface WithdrawalTimes {
  /** The latest withdrawal of the person; null if there is none. */
  withdrawnAt: Date | null
  /** When the service received the event. */
  receivedAt: Date
}

/**
 * Checks whether a granted event may be delivered after the latest withdrawal of its person. Runs
 * when the event is accepted and again when it is sent.
 *
 * Only consent captured after the withdrawal allows delivery (`isCapturedAfterOptOut`). A grant
 * without `captured_at` is blocked, and so is an attestation, which names no new signal from the
 * person. A TC string has day precision: midnight of the day of withdrawal is earlier.
 */
export function checkWithdrawal(
  grant: ConsentGrant,
  { withdrawnAt, receivedAt }: WithdrawalTimes,
): WithdrawalCheck {
  if (withdrawnAt === null) return { allowed: true }
  const captured = parseCapturedAt(grant.captured_at)
  const isReopened =
    grant.reason !== 'attested_by_basis' &&
    captured instanceof Date &&
    isCapturedAfterOptOut(captured, { optedOutAt: withdrawnAt, receivedAt })
  return isReopened ? { allowed: true } : { allowed: false, reason: 'consent_withdrawn' }
}
