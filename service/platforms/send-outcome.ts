/**
 * What a platform's answer to one request means for the events in it. A refusal is an outcome,
 * not an exception (house rule 9).
 * - accepted: the platform has every event.
 * - retry: it may work later; nothing is wrong with the events.
 * - throttle: too many requests; wait at least `waitSeconds`.
 * - auth, config: the destination's credential or set-up is refused; the events are not to blame.
 * - permanent: the platform refuses the content. `divisible`: one bad event fails a whole batch,
 *   so halves may still go through.
 * - unknown: no usable answer; the platform may or may not have the events. Retried with the same
 *   id and time, which the platform deduplicates.
 */
export type SendOutcome =
  | { kind: 'accepted' }
  | { kind: 'retry' }
  | { kind: 'throttle'; waitSeconds: number }
  | { kind: 'auth' }
  | { kind: 'config' }
  | { kind: 'permanent'; divisible: boolean }
  | { kind: 'unknown' }

/** Why it was not accepted, in the platform's words. Shown to the tracker as `last_error`. */
export interface SendError {
  class: Exclude<SendOutcome['kind'], 'accepted'> | 'local'
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
  httpStatus: number | null
  traceId: string | null
  answer: Record<string, unknown> | null
  error: SendError | null
}
