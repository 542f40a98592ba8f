import { checkObject, type FieldErrors, integer, list, object, text } from '../field-check.ts'

/** How the simulator behaves, as posted to /_simulator/google/options. Wire names throughout. */
export interface GoogleOptions {
  /** After so many seconds the result of a request is there; until then it is PROCESSING. */
  processing_seconds: number
  requests_per_minute: number
  requests_per_day: number
  /** Events that get an error in the result of their request. The first that matches counts. */
  errors: ScriptedError[]
}

export interface ScriptedError {
  account?: string
  conversion_action?: string
  transaction_id?: string
  /** Without the prefix PROCESSING_ERROR_REASON_. */
  reason: string
}

export const DEFAULT_OPTIONS: GoogleOptions = {
  processing_seconds: 60,
  requests_per_minute: 300,
  requests_per_day: 100_000,
  errors: [],
}

const ERRORS_MAX = 1_000
const NUMBER_MAX = 1_000_000_000

const SCRIPTED_ERROR = object(
  {
    account: text(1, 20),
    conversion_action: text(1, 20),
    transaction_id: text(1, 512),
    reason: text(1, 100),
  },
  ['reason'],
)

const MEMBERS = {
  processing_seconds: integer(0, NUMBER_MAX),
  requests_per_minute: integer(0, NUMBER_MAX),
  requests_per_day: integer(0, NUMBER_MAX),
  errors: list(SCRIPTED_ERROR, ERRORS_MAX),
}

/** Omitted members get their defaults; errors name every invalid field. */
export function parseOptions(body: unknown): GoogleOptions | { fieldErrors: FieldErrors } {
  const errors: FieldErrors = {}
  checkObject(body, { path: '', members: MEMBERS, required: [] }, errors)
  if (Object.keys(errors).length > 0) return { fieldErrors: errors }
  return { ...DEFAULT_OPTIONS, ...(body as Partial<GoogleOptions>) }
}
