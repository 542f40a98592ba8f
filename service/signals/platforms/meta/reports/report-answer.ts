import { isObject, parseJsonObject } from '../../../../runtime/util/is-object.ts'
import type { Unavailable, UnavailableCause } from '../../platform.ts'
import { type AnswerClass, classifyErrorCode, classifyHttpStatus } from '../error-codes.ts'

/** A JSON object whose members are not checked. */
export type ReportBody = Record<string, unknown>

export interface ReportAnswer {
  kind: 'answer'
  body: ReportBody
}

interface ReportResponse {
  status: number
  text: string
  /** How long the headers ask the client to wait, in seconds; 0 without a request. */
  waitSeconds: number
}

/** Reads an answer, or why it has nothing to use (Meta: Graph API, Handling Errors). */
export function readReportAnswer({
  status,
  text,
  waitSeconds,
}: ReportResponse): ReportAnswer | Unavailable {
  const body = parseJsonObject(text)
  if (body && isObject(body.error)) return readRefusal(body.error, { status, waitSeconds })
  if (status === 200 && body) return { kind: 'answer', body }
  if (status === 429) return unavailableOf(classifyHttpStatus(status), waitSeconds)
  return unavailable(status >= 500 ? 'out_of_reach' : 'unreadable', { waitSeconds })
}

function readRefusal(
  error: Record<string, unknown>,
  { status, waitSeconds }: { status: number; waitSeconds: number },
): Unavailable {
  const { code, error_subcode, is_transient } = error
  if (!Number.isSafeInteger(code)) return unavailableOf(classifyHttpStatus(status), waitSeconds)
  const subcode = Number.isSafeInteger(error_subcode) ? (error_subcode as number) : null
  const isTransient = is_transient === true
  return unavailableOf(
    classifyErrorCode({ code: code as number, subcode, isTransient }),
    waitSeconds,
  )
}

/**
 * Maps the class of an error on a report. Every dataset gets the same request, so when Meta rejects
 * a parameter it is the dataset that may not be read: `(#100) Permission Denied`.
 */
function unavailableOf(
  { outcome, waitSecondsMin }: AnswerClass,
  askedSeconds: number,
): Unavailable {
  const waitSeconds = Math.max(askedSeconds, waitSecondsMin)
  switch (outcome) {
    case 'auth':
      return unavailable('credential', { waitSeconds })
    case 'throttle':
      return unavailable('throttled', { waitSeconds })
    case 'config':
    case 'permanent':
      return unavailable('permission', { waitSeconds })
    case 'retry':
    case 'unknown':
      return unavailable('out_of_reach', { waitSeconds })
  }
}

/** What to do about each cause. None of them quotes the platform. */
type MetaCause = Exclude<UnavailableCause, 'unsupported'>

const SENTENCES: Record<MetaCause, string> = {
  permission:
    'The platform does not show this dataset to the access token: give its user the right to ' +
    'use the dataset, or enter a token that has it.',
  credential: 'The platform refuses the access token: enter a new one.',
  throttled: 'The platform has had too many requests: wait, and ask again later.',
  out_of_reach: 'The platform gave no usable answer: ask again later.',
  out_of_range: 'The platform shows counts of the last 7 days only: nothing older can be read.',
  unreadable:
    'The platform gave an answer that cannot be read: ask again later, and report it if it stays.',
}

/** A report that is not available, with a sentence for a person. */
export function unavailable(
  cause: MetaCause,
  {
    sentence = SENTENCES[cause],
    waitSeconds = 0,
  }: { sentence?: string; waitSeconds?: number } = {},
): Unavailable {
  return { kind: 'unavailable', cause, sentence, waitSeconds }
}

const REPLACEMENT = '\uFFFD'

/** Text of the platform as the store takes it: without NUL and unpaired surrogates. */
export function toStorableText(text: string): string {
  return text.replaceAll('\0', REPLACEMENT).toWellFormed()
}
