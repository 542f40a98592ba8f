/**
 * What a platform's answer to one request means for the events in it. A refusal is an outcome,
 * not an exception (house rule 9).
 * - accepted: the platform has every event.
 * - retry: it may work later; nothing is wrong with the events.
 * - throttle: too many requests.
 * - auth, config: the destination's credential or set-up is refused; the events are not to blame.
 * - permanent: the platform refuses the content. One bad event fails a whole batch, so its halves
 *   may still go through.
 * - unknown: no usable answer; the platform may or may not have the events. Retried with the same
 *   id and time, which the platform deduplicates.
 */
export type SendOutcome =
  | 'accepted'
  | 'retry'
  | 'throttle'
  | 'auth'
  | 'config'
  | 'permanent'
  | 'unknown'

/** Why it was not accepted, in the platform's words. Shown to the tracker as `last_error`. */
export interface SendError {
  class: Exclude<SendOutcome, 'accepted'> | 'local'
  code: number | null
  subcode: number | null
  message: string
  user_title: string | null
  user_message: string | null
  http_status: number | null
}

/** One request and its answer, ready to be kept. It holds no credential. */
export interface SendAnswer {
  outcome: SendOutcome
  /** How long the platform asks us to stay away, in seconds; 0 when it asks for nothing. */
  waitSeconds: number
  httpStatus: number | null
  traceId: string | null
  answer: Record<string, unknown> | null
  error: SendError | null
}
