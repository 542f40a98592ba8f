import type { IngestionWarning } from '@signalbox/contract/submissions.ts'
import { readAdvertisingConsent } from './advertising-consent.ts'
import { captureWarnings } from './capture-warnings.ts'
import { type CapturedAt, readCapturedAt } from './captured-at.ts'
import { readConsentMode } from './consent-mode.ts'
import type { ConsentMoment } from './consent-moment.ts'
import type { ConsentReading } from './consent-reading.ts'
import {
  CONSENT_SOURCES,
  type ConsentSource,
  type ConsentStates,
  type ConsentVerdict,
  combineConsentStates,
  type DenialReason,
  type DeniedBy,
  type GrantedBy,
} from './consent-table.ts'
import { type FreeFormObject, isFreeFormObject } from './free-form-object.ts'
import { readGlobalPrivacyControl } from './gpc.ts'
import { readTcfConsent } from './tcf-consent.ts'

/** Counts up with the rules of this room; read as `consent_normalization_version`. */
export const CONSENT_RULES_VERSION = '1'

/** The members of a submitted event that the decision reads (spec, createEvent). */
export interface ConsentInputs {
  event_name: string
  consent_basis: 'consent' | 'legitimate_interest'
  consent?: FreeFormObject | undefined
  consent_mode?: FreeFormObject | undefined
  tcf?: FreeFormObject | undefined
}

/** What each input said. Global Privacy Control comes inside `consent` and is read beside it. */
export type ConsentReadings = Record<ConsentSource | 'gpc', ConsentReading>

/** What every decision carries. It is plain JSON, free of the caller's own text, to be stored. */
interface ConsentGrounds {
  granted_by: ConsentSource[]
  denied_by: (DeniedBy | 'gpc_opt_out')[]
  inputs: ConsentReadings
  rules_version: typeof CONSENT_RULES_VERSION
  warnings: IngestionWarning[]
}

/** Deliver. `captured_at` is the latest time at which one of the granting inputs was captured. */
export interface ConsentGranted extends ConsentGrounds {
  outcome: 'granted'
  reason: GrantedBy | 'attested_by_basis'
  captured_at: string | null
  denied_field: null
}

/** Store the event and skip its deliveries: there are signals, and none of them can be read. */
export interface ConsentWithheld extends ConsentGrounds {
  outcome: 'withheld'
  reason: 'no_signal'
  captured_at: null
  denied_field: null
}

/** Refuse the request (422) on `denied_field`, the dotted path of the member that denies. */
export interface ConsentDenied extends ConsentGrounds {
  outcome: 'denied'
  reason: DenialReason | 'gpc_opt_out'
  captured_at: null
  denied_field: string
}

/** Keep in the ledger alone: no deliveries, no attributed join. */
export interface ConsentLedgerOnly extends ConsentGrounds {
  outcome: 'ledger_only'
  reason: 'legitimate_interest' | 'consent_withdrawal'
  captured_at: null
  denied_field: null
}

export type ConsentDecision = ConsentGranted | ConsentWithheld | ConsentDenied | ConsentLedgerOnly
export type ConsentReason = ConsentDecision['reason']

/**
 * Decides what may be done with one submitted event (decisions, section 3; domain reference,
 * section E). It reads no clock and no table, so the same submission at the same moment always gets
 * the same answer, and the answer can be replayed when someone asks why. Never throws.
 *
 * A `consent_withdrawal` is never delivered, even when it comes on the basis of consent: sending
 * the person's identity to a platform is what the withdrawal ends, and the refusal that it may
 * carry is no contradiction to answer with 422.
 */
export function decideConsent(inputs: ConsentInputs, moment: ConsentMoment): ConsentDecision {
  if (inputs.consent_basis === 'legitimate_interest') return ledgerOnly('legitimate_interest')
  if (inputs.event_name === 'consent_withdrawal') return ledgerOnly('consent_withdrawal')

  const captured = readCapturedAt(objectOf(inputs.consent)?.captured_at)
  const readings = readInputs(inputs, captured, moment.receivedAt)
  const verdict = combineConsentStates(statesOf(readings))
  const grounds = groundsOf(readings, verdict)
  if (readings.gpc.state === 'denied') return optedOut(readings.gpc.field, grounds)
  if (verdict.decision === 'denied' && verdict.reason !== 'no_signal') {
    const denied_field = readings[verdict.denier].field
    return { ...grounds, outcome: 'denied', reason: verdict.reason, denied_field }
  }

  const warnings = captureWarnings(captured, moment)
  if (verdict.decision === 'granted') {
    const captured_at = latestTime(grounds.granted_by.map(source => readings[source].captured_at))
    return { ...grounds, outcome: 'granted', reason: verdict.reason, captured_at, warnings }
  }
  // The basis is the caller's word for a grant; a signal that we cannot read outweighs the word.
  if (!isSilent(readings)) {
    return { ...grounds, outcome: 'withheld', reason: 'no_signal', warnings }
  }
  const { captured_at } = readings.consent
  return { ...grounds, outcome: 'granted', reason: 'attested_by_basis', captured_at, warnings }
}

function objectOf(value: unknown): FreeFormObject | undefined {
  return isFreeFormObject(value) ? value : undefined
}

function readInputs(
  inputs: ConsentInputs,
  captured: CapturedAt,
  receivedAt: Date,
): ConsentReadings {
  const consentObject = objectOf(inputs.consent)
  const consent = readAdvertisingConsent(consentObject, captured, receivedAt)
  return {
    consent,
    tcf: readTcfConsent(objectOf(inputs.tcf), receivedAt),
    consent_mode: readConsentMode(objectOf(inputs.consent_mode), captured, receivedAt),
    gpc: readGlobalPrivacyControl(consentObject, consent, receivedAt),
  }
}

function statesOf({ consent, tcf, consent_mode }: ConsentReadings): ConsentStates {
  return { consent: consent.state, tcf: tcf.state, consent_mode: consent_mode.state }
}

/** The members that most outcomes share; an outcome overrides what it fills in. */
function groundsOf(inputs: ConsentReadings, { detail }: ConsentVerdict) {
  const { granted_by, denied_by } = detail
  const rules_version = CONSENT_RULES_VERSION
  const nothing = { captured_at: null, denied_field: null, warnings: [] }
  return { granted_by, denied_by, inputs, rules_version, ...nothing } satisfies ConsentGrounds
}

function optedOut(denied_field: string, grounds: ReturnType<typeof groundsOf>): ConsentDenied {
  const denied_by: ConsentDenied['denied_by'] = ['gpc_opt_out', ...grounds.denied_by]
  return { ...grounds, outcome: 'denied', reason: 'gpc_opt_out', denied_by, denied_field }
}

function ledgerOnly(reason: ConsentLedgerOnly['reason']): ConsentLedgerOnly {
  return {
    outcome: 'ledger_only',
    reason,
    granted_by: [],
    denied_by: [],
    inputs: {
      consent: notRead('consent'),
      tcf: notRead('tcf'),
      consent_mode: notRead('consent_mode'),
      gpc: notRead('consent.gpc'),
    },
    rules_version: CONSENT_RULES_VERSION,
    captured_at: null,
    denied_field: null,
    warnings: [],
  }
}

/** The decision does not depend on this input, so nobody looks at it. */
function notRead(field: string): ConsentReading {
  return { state: 'unknown', why: 'not_read', field, captured_at: null }
}

/** Both are UTC in one format, so the later text is the later time. */
function latestTime(times: (string | null)[]): string | null {
  return times.reduce((latest, time) => ((time ?? '') > (latest ?? '') ? time : latest), null)
}

function isSilent(readings: ConsentReadings): boolean {
  return CONSENT_SOURCES.every(source => readings[source].why === 'no_signal')
}
