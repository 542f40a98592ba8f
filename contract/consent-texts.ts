/** What the decision on consent means for an event, by its outcome. */
export const CONSENT_OUTCOMES: Readonly<Record<string, string>> = {
  granted: 'Granted: the event may be sent.',
  withheld: 'Withheld: the event is stored and not sent.',
  ledger_only: 'Ledger only: events of this kind are never sent.',
}

/** Reasons that are not a signal of the event. */
export const CONSENT_REASONS: Readonly<Record<string, string>> = {
  attested_by_basis: 'The sender states the basis "consent", and no signal says otherwise.',
  no_signal: 'Signals came with the event, but none of them could be read as granted.',
  possible_refusal:
    'A consent member refuses advertising by its words, though it is not a form that is known.',
  consent_withdrawn: 'The visitor withdrew consent before.',
  erased: 'The person was erased on request.',
  legitimate_interest: 'The event has the basis "legitimate interest".',
  consent_withdrawal: 'The event is itself a withdrawal.',
}
