/** The edges of the Graph API that exist here. */
export type FaultEdge = 'events' | 'stats' | 'dataset_quality'

/** One scripted failure, as posted to /_simulator/faults. Wire names throughout. */
export interface FaultRule {
  /** The edge whose requests it hits; `events` when left out. */
  edge?: FaultEdge
  /** Conditions, all of which must hold; left out, the rule fits every request. */
  match?: FaultMatch
  /** How often the rule may fire; left out, for ever. */
  times?: number
  /** Chance from 0 to 1 that a fitting request is hit; left out, always. */
  probability?: number
  /** Start of the rule's own random sequence, so that a run can be repeated; 1 when left out. */
  seed?: number
  /** Answer this instead of processing the request; nothing is kept. */
  respond?: FaultResponse
  /** Added to whatever answer the request gets, an ordinary one too; they win over all others. */
  headers?: Record<string, string>
  /** Keep only the first so many events of a valid request, and say so in `events_received`. */
  keep_events?: number
  /** Wait before the answer. What is kept is kept on arrival, before the wait. */
  delay_ms?: number
  /** Close the connection without an answer: untouched, or after the events were kept. */
  abort?: 'before_response' | 'after_store'
  /** Announce the whole answer, send only so many bytes of its body, then close. */
  truncate?: number
}

export interface FaultMatch {
  dataset?: string
  /** Fits a request in which one event carries the name (and the id, when both are given). */
  event_name?: string
  event_id?: string
  /** True: only requests with a test_event_code. False: only those without. */
  test?: boolean
  /** ISO 8601 with offset: the rule fits from this time on. */
  from?: string
  /** ISO 8601 with offset: the rule fits before this time. */
  until?: string
}

export interface FaultResponse {
  status: number
  /** Members of Graph's error body; what is left out is left out there too. */
  code?: number
  subcode?: number
  message?: string
  is_transient?: boolean
  user_title?: string
  user_msg?: string
  /** Raw text in place of Graph's error body, such as a proxy's HTML page. */
  body?: string
  headers?: Record<string, string>
}
