import type { IngestionWarning } from '@signalbox/contract/submissions.ts'
import { isObject, type UntrustedObject } from '../../runtime/util/is-object.ts'
import {
  buildCaptureWarnings,
  type ConsentContext,
  type ConsentSignal,
  isCapturedAfterOptOut,
  parseCapturedAt,
  toCredibleTime,
} from './consent-signal.ts'
import {
  type CombinedConsent,
  type ConsentSignals,
  combineConsentStates,
  type DenialReason,
  type DeniedBy,
  type GrantedBy,
  hasNoSignal,
  readStatements,
  reduceSignals,
  toStates,
} from './consent-signals.ts'
import type { ConsentSource, ConsentStatements, PlatformConsentNeeds } from './consent-statement.ts'
import { withoutHistory } from './consent-times.ts'
import {
  findRefusedVendors,
  isPersonalizationGranted,
  listPossibleRefusals,
} from './platform-consent.ts'

/** Version of the consent rules, stored as `consent_normalization_version`. */
export const CONSENT_RULES_VERSION = '10'

/**
 * The members of a submission that the decision reads. Apart from the basis, nothing has validated
 * them. Global Privacy Control and GPP strings may also be at the top level, under names of any
 * spelling (`isPrivacyMember`).
 */
export interface ConsentInputs {
  consent_basis: 'consent' | 'legitimate_interest'
  event_name?: unknown
  consent?: unknown
  consent_mode?: unknown
  tcf?: unknown
}

/** Members of every decision. Plain JSON without text from the caller, so that it can be stored. */
interface DecisionBase {
  granted_by: ConsentSource[]
  denied_by: (DeniedBy | 'gpc_opt_out')[]
  inputs: ConsentSignals
  /** Paths of members that refuse by their words. Empty where a form denies. */
  possible_refusals: string[]
  rules_version: typeof CONSENT_RULES_VERSION
  warnings: IngestionWarning[]
}

/** Deliver. `captured_at` is the latest capture time of the inputs that granted. */
export interface ConsentGranted extends DecisionBase {
  outcome: 'granted'
  reason: GrantedBy | 'attested_by_basis'
  captured_at: string | null
  /** False: the platform may count the event, and not use it for personalized ads. */
  is_personalized: boolean
  denied_field: null
}

/**
 * Store the event and skip its deliveries: there are signals, but none is readable, or one refuses
 * by its words, which only a person can tell.
 */
interface ConsentWithheld extends DecisionBase {
  outcome: 'withheld'
  reason: 'no_signal' | 'possible_refusal'
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
 * Decides whether a submitted event may be delivered to one platform. It reads no clock and no
 * database, so a decision can be reproduced and explained later. Never throws.
 *
 * A `consent_withdrawal` is never delivered, even on the basis of consent: it ends the sending of
 * identity to platforms. A denial in it is expected and does not cause a 422.
 */
export function decideConsent(
  inputs: ConsentInputs,
  { needs, ...context }: ConsentContext & { needs: PlatformConsentNeeds },
): ConsentDecision {
  return createDecider(inputs, context).decide(needs)
}

interface ConsentDecider {
  decide: (needs: PlatformConsentNeeds) => ConsentDecision
  /** The vendors that the submission refuses by name, whether they have a plug-in or not. */
  refusedVendors: ReadonlySet<string>
}

const NO_VENDORS: ReadonlySet<string> = new Set()

/** Reads what a submission says about consent once; each platform's decision is made from it. */
export function createDecider(inputs: ConsentInputs, context: ConsentContext): ConsentDecider {
  const keep = (reason: ConsentLedgerOnly['reason']): ConsentDecider => {
    return { decide: () => keepInLedger(reason), refusedVendors: NO_VENDORS }
  }
  if (inputs.consent_basis === 'legitimate_interest') return keep('legitimate_interest')
  if (inputs.event_name === 'consent_withdrawal') return keep('consent_withdrawal')
  const captured = parseCapturedAt(toObject(inputs.consent)?.captured_at)
  const read = readStatements(inputs, context.categories ?? null)
  const statements = withoutHistory(read, captured, context.receivedAt)
  const warnings = buildCaptureWarnings(captured, context)
  const credibleTime = toCredibleTime(captured, context.receivedAt)
  const decideFor = (needs: PlatformConsentNeeds) => {
    const time = { captured, credibleTime }
    const signals = reduceSignals(statements, inputs, { ...context, ...time, needs })
    return decide(statements, signals, { needs, warnings })
  }
  return { decide: decideFor, refusedVendors: findRefusedVendors(statements) }
}

function decide(
  statements: ConsentStatements,
  signals: ConsentSignals,
  { needs, warnings }: { needs: PlatformConsentNeeds; warnings: IngestionWarning[] },
): ConsentDecision {
  const combined = combineConsentStates(toStates(signals))
  const base = buildDecisionBase(signals, combined)
  if (signals.gpc.state === 'denied') return denyForGpc(signals.gpc.field, base)
  if (combined.decision === 'denied' && combined.reason !== 'no_signal') {
    const denied_field = signals[combined.denier].field
    return { ...base, outcome: 'denied', reason: combined.reason, denied_field }
  }
  const possible_refusals = listPossibleRefusals(statements, needs)
  if (possible_refusals.length > 0) {
    const reason = 'possible_refusal'
    return { ...base, outcome: 'withheld', reason, possible_refusals, warnings }
  }
  const is_personalized = isPersonalizationGranted(statements, needs, base.granted_by)
  if (combined.decision === 'granted') {
    const captured_at = findLatestTime(base.granted_by.map(source => signals[source].captured_at))
    const { reason } = combined
    return { ...base, outcome: 'granted', reason, captured_at, is_personalized, warnings }
  }
  // The basis is the caller's attestation of consent. An unreadable signal outweighs it.
  if (!hasNoSignal(signals)) {
    return { ...base, outcome: 'withheld', reason: 'no_signal', warnings }
  }
  const { captured_at } = signals.consent
  const reason = 'attested_by_basis'
  return { ...base, outcome: 'granted', reason, captured_at, is_personalized, warnings }
}

function toObject(value: unknown): UntrustedObject | undefined {
  return isObject(value) ? value : undefined
}

/** Members shared by most outcomes. */
function buildDecisionBase(inputs: ConsentSignals, { detail }: CombinedConsent) {
  return {
    granted_by: detail.granted_by,
    denied_by: detail.denied_by,
    inputs,
    possible_refusals: [],
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
    possible_refusals: [],
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

/** Why a withdrawal withholds an event: one of the tracker secret, or only one of a page. */
export type WithdrawalReason = 'consent_withdrawn' | 'withdrawn_by_page'

/** A granted decision, new or stored with the event. */
export type ConsentGrant = Pick<ConsentGranted, 'reason' | 'captured_at'>

/** The times that decide whether a withdrawal blocks an event. */
export interface WithdrawalTimes {
  /** The latest withdrawals of the person, by who sent them; null if there is none. */
  bySecret: Date | null
  byPage: Date | null
  /** When the service received the event. */
  receivedAt: Date
}

/**
 * Finds why a granted event must not be delivered after the withdrawals of its person; null when it
 * may be. Runs when the event is accepted and again when it is sent. A page's withdrawal is the
 * reason only where it alone is, because then lifting it delivers the event.
 *
 * Only consent captured after the withdrawal allows delivery (`isCapturedAfterOptOut`). A grant
 * without `captured_at` is blocked, and so is an attestation, which names no new signal from the
 * person. A TC string has day precision: midnight of the day of withdrawal is earlier.
 */
export function findWithdrawalReason(
  grant: ConsentGrant,
  { bySecret, byPage, receivedAt }: WithdrawalTimes,
): WithdrawalReason | null {
  if (blocksDelivery(grant, bySecret, receivedAt)) return 'consent_withdrawn'
  return blocksDelivery(grant, byPage, receivedAt) ? 'withdrawn_by_page' : null
}

function blocksDelivery(grant: ConsentGrant, withdrawnAt: Date | null, receivedAt: Date): boolean {
  if (withdrawnAt === null) return false
  const captured = parseCapturedAt(grant.captured_at)
  const isReopened =
    grant.reason !== 'attested_by_basis' &&
    captured instanceof Date &&
    isCapturedAfterOptOut(captured, { optedOutAt: withdrawnAt, receivedAt })
  return !isReopened
}
