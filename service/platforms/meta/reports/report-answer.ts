import type { Unavailable } from '../../platform-reports.ts'
import { type AnswerClass, classOfMetaCode, classOfStatus } from '../answer-class.ts'
import { unavailable } from './unavailable.ts'

/** A JSON object whose members nobody has checked. */
export type ReportBody = Record<string, unknown>

export interface ReportAnswer {
  kind: 'answer'
  body: ReportBody
}

export interface ReportResponse {
  status: number
  text: string
  /** How long the headers ask us to wait, in seconds; 0 when they say nothing. */
  waitSeconds: number
}

/** What an answer says, or why there is nothing to use in it (Meta: Graph API, Handling Errors). */
export function readReportAnswer({
  status,
  text,
  waitSeconds,
}: ReportResponse): ReportAnswer | Unavailable {
  const body = parse(text)
  if (isObject(body) && isObject(body.error)) return refused(body.error, { status, waitSeconds })
  if (status === 200 && isObject(body)) return { kind: 'answer', body }
  if (status === 429) return byClass(classOfStatus(status), waitSeconds)
  return unavailable(status >= 500 ? 'out_of_reach' : 'unreadable', { waitSeconds })
}

function refused(
  error: Record<string, unknown>,
  { status, waitSeconds }: { status: number; waitSeconds: number },
): Unavailable {
  const { code, error_subcode, is_transient } = error
  if (!Number.isSafeInteger(code)) return byClass(classOfStatus(status), waitSeconds)
  const subcode = Number.isSafeInteger(error_subcode) ? (error_subcode as number) : null
  const isTransient = is_transient === true
  return byClass(classOfMetaCode({ code: code as number, subcode, isTransient }), waitSeconds)
}

/**
 * What a refusal to send would mean, for reading. We ask the same of every dataset, so when Meta
 * calls a parameter wrong it is the dataset that may not be read: `(#100) Permission Denied`.
 */
function byClass({ outcome, waitSecondsMin }: AnswerClass, askedSeconds: number): Unavailable {
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

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
