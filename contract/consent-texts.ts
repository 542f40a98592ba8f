import { isMember, keysOf } from './closed-set.ts'
import type { ConsentOutcome, ConsentReason } from './reasons.ts'

/** What the decision on consent means for an event, by its outcome. */
const CONSENT_OUTCOMES: Readonly<Record<ConsentOutcome, string>> = {
  granted: 'Granted: the event may be sent.',
  withheld: 'Withheld: the event is stored and not sent.',
  ledger_only: 'Ledger only: events of this kind are never sent.',
}

/** The sentence about a reason; null when the signals of the event say it themselves. */
const CONSENT_REASONS: Readonly<Record<ConsentReason, string | null>> = {
  granted_by_consent: null,
  granted_by_tcf: null,
  granted_by_consent_mode: null,
  names_no_person: null,
  attested_by_basis: 'The sender states the basis "consent", and no signal says otherwise.',
  no_signal: 'Signals came with the event, but none of them could be read as granted.',
  possible_refusal:
    'A consent member refuses advertising by its words, though it is not a form that is known.',
  consent_withdrawn: 'The visitor withdrew consent before.',
  withdrawn_by_page: 'A page withdrew the consent of the visitor before.',
  erased: 'The person was erased on request.',
  legitimate_interest: 'The event has the basis "legitimate interest".',
  consent_withdrawal: 'The event is itself a withdrawal.',
}

/** Null for an outcome of another version. */
export function describeConsentOutcome(outcome: string): string | null {
  return isMember(keysOf(CONSENT_OUTCOMES), outcome) ? CONSENT_OUTCOMES[outcome] : null
}

/** Null where the signals say it themselves, and for a reason of another version. */
export function describeConsentReason(reason: string): string | null {
  return isMember(keysOf(CONSENT_REASONS), reason) ? CONSENT_REASONS[reason] : null
}
