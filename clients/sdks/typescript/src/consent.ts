import type { EventTime } from './contract.generated.ts'
import { InvalidArgumentError } from './errors.ts'
import { formatTime } from './event-submission.ts'

/** Builds what an event says about consent. Send `consent_basis: 'consent'` with it. */
export const consent = { granted, mode }

export interface ConsentDetails {
  /** When the person agreed. */
  captured_at: EventTime
  /** How, such as `banner` or `checkout`. */
  method?: string | undefined
  /** Which version of the text. */
  version?: string | undefined
  source?: string | undefined
  policy_url?: string | undefined
  locale?: string | undefined
}

/** The `consent` of an event whose person agreed to advertising. */
function granted(details: ConsentDetails): { advertising: 'granted'; [member: string]: unknown } {
  const { captured_at: time, ...others } = details
  const formatted = formatTime(time, 'captured_at')
  const captured_at =
    typeof formatted === 'number' ? new Date(formatted * 1_000).toISOString() : formatted
  if (typeof captured_at !== 'string') {
    throw new InvalidArgumentError('captured_at must be a Date, text or Unix seconds.')
  }
  return { advertising: 'granted', captured_at, ...others }
}

type Signal = boolean | 'granted' | 'denied'

export interface ConsentModeSignals {
  ad_storage?: Signal | undefined
  ad_user_data?: Signal | undefined
  ad_personalization?: Signal | undefined
}

/** The `consent_mode` of an event. The service refuses an event with a denied signal. */
function mode(signals: ConsentModeSignals): Record<string, 'granted' | 'denied'> {
  const given = Object.entries(signals).filter(([, signal]) => signal !== undefined)
  return Object.fromEntries(
    given.map(([name, signal]) => [
      name,
      signal === true || signal === 'granted' ? 'granted' : 'denied',
    ]),
  )
}
