import type { FailureClass, SendOutcome, UnavailableCause } from '@signalbox/contract/reasons.ts'

/** Why an event was not accepted, as the platform states it. Returned as `last_error`. */
export interface SendError {
  class: FailureClass
  code: number | null
  subcode: number | null
  message: string
  user_title: string | null
  user_message: string | null
  http_status: number | null
}

/** An error with what is known of it. */
export function toSendError(
  outcome: SendError['class'],
  known: Partial<SendError> & { message: string },
): SendError {
  return {
    class: outcome,
    code: null,
    subcode: null,
    user_title: null,
    user_message: null,
    http_status: null,
    ...known,
  }
}

/** The result of one request, in the form that is stored. It contains no credential. */
export interface SendAnswer {
  /**
   * What the answer says about the destination, and about every event of the request unless
   * `events` is present: then `accepted` says that the platform works. `permanent` without
   * `events`: the platform rejected the whole batch for its content, so it is halved.
   */
  outcome: SendOutcome
  /** How long the platform asks us to wait, in seconds; 0 if it does not ask. */
  waitSeconds: number
  httpStatus: number | null
  traceId: string | null
  answer: Record<string, unknown> | null
  error: SendError | null
  /**
   * For a platform that processes a part of a request: one entry for each event, in the order in
   * which they were sent. What was accepted is never sent again; each of the others is settled by
   * its own outcome.
   */
  events?: readonly EventAnswer[]
  /**
   * The platform took the request and tells its result later, under this ID. The events are settled
   * as accepted, and `Platform.readReceipt` asks for the result.
   */
  receiptId?: string | null
}

/** The result of one event of a request. */
export interface EventAnswer {
  outcome: SendOutcome
  /** Null when it was accepted; of the class local where the event was left out of the request. */
  error: SendError | null
}

/** Settles a batch of which nothing was sent, each event with its error of the class local. */
export function refuseUnsent(errors: readonly SendError[]): SendAnswer {
  return {
    outcome: 'permanent',
    waitSeconds: 0,
    httpStatus: null,
    traceId: null,
    answer: null,
    error: errors[0] ?? null,
    events: errors.map(error => ({ outcome: 'permanent', error })),
  }
}

/** An unavailable report. It must never be treated as zero. */
export interface Unavailable {
  kind: 'unavailable'
  cause: UnavailableCause
  /** One sentence for a person, without tokens or raw identifiers. */
  sentence: string
  /** How long the platform asks us to wait, in seconds; 0 if it does not ask. */
  waitSeconds: number
}

/** A report that the platform does not have, with where a person finds it. */
export function unsupportedReport(sentence: string): Unavailable {
  return { kind: 'unavailable', cause: 'unsupported', sentence, waitSeconds: 0 }
}

/** A report that could not be read because the credential gives no access token. */
export function unavailableWithoutToken({ outcome, waitSeconds, error }: SendAnswer): Unavailable {
  const cause =
    outcome === 'throttle' ? 'throttled' : outcome === 'retry' ? 'out_of_reach' : 'credential'
  return { kind: 'unavailable', cause, sentence: error?.message ?? '', waitSeconds }
}

/** A person who was erased, by the digest of the request or another form of it. */
export interface Erasure {
  /** The same for every attempt. */
  id: string
  /** Lower-case SHA-256 of an email address, a phone number or an ID of the caller. */
  digest: string
  erasedAt: Date
}

/** What a platform says about a request that it took earlier. */
export interface ReceiptResult {
  kind: 'receipt'
  /** `failed`: it processed no event of the request. */
  state: 'processing' | 'succeeded' | 'partially_succeeded' | 'failed'
  /** How many records the platform processed; null if it does not say. */
  recordCount: number | null
  /** The platform's own codes, never its free text. */
  errors: readonly ReceiptCount[]
  warnings: readonly ReceiptCount[]
  /** The body of the response, for a person; without free text that may repeat an identifier. */
  answer: Record<string, unknown> | null
}

/** How many records of a request have one reason, in the platform's own code. */
export interface ReceiptCount {
  reason: string
  count: number
}
