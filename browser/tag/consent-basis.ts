/** What one source of consent says; without a state it is not there or has said nothing. */
export interface ConsentSignal {
  state?: 'granted' | 'denied' | 'waiting'
  /** The members that prove it, as they go into the event. */
  evidence?: object
}

export type ConsentBasis = NonNullable<ConsentSignal['state']>

/**
 * Reduces all sources to one basis. One denial denies, and so does Global Privacy Control. Else
 * the first source that speaks decides: the page's own word, then TCF, then Consent Mode, whose
 * defaults are no person's choice and must not overtake a banner that is still open.
 */
export function consentBasis(signals: ConsentSignal[], isOptedOut: boolean): ConsentBasis {
  const states = signals.map(({ state }) => state)
  if (isOptedOut || states.includes('denied')) return 'denied'
  return states.find(Boolean) || 'waiting'
}
