/** What can be wrong with a destination in the long run; the list may grow. */
export const ALERT_KINDS = ['emq_fell', 'emq_low', 'reconciliation_unexplained'] as const
export type AlertKind = (typeof ALERT_KINDS)[number]

/** Of what an alert is: there is at most one open at a time. */
export interface AlertSubject {
  trackerId: string
  destinationId: string
  kind: AlertKind
}

export interface Alert extends AlertSubject {
  /** One sentence for a person, without secrets, identifiers and names that callers gave. */
  sentence: string
  /** The figures behind the sentence. */
  details: Record<string, unknown>
}

/** An alert was raised, or what it was about is fine again. */
export interface AlertMove extends AlertSubject {
  move: 'raised' | 'resolved'
  sentence: string
}
