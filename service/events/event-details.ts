import { isObject } from '../util/is-object.ts'

/**
 * What a caller allows a platform to do with an event, under the names of the API. Stored in the
 * ledger, with the consent of the event: a restriction must stay provable after identity expired.
 */
export interface UseRestrictions {
  /** Count the event, but never use it to choose who sees an advertisement. */
  opt_out?: boolean
  data_processing_options?: string[]
  data_processing_options_country?: number
  data_processing_options_state?: number
}

/**
 * What a platform gets besides identity and order, under the names of the API. It may identify a
 * person or a device, and so is stored in the expiring payload.
 */
export interface EventDetails {
  /** Without identifiers. */
  referrer_url?: string
  app_data?: Record<string, unknown>
  messaging_channel?: string
  advertiser_tracking_enabled?: boolean
  customer_segmentation?: string
}

/** The name of the restrictions in the stored consent. No member of a submitted consent has it. */
export const RESTRICTIONS_MEMBER = 'restrictions'

/** Reads the restrictions from the stored consent of an event. */
export function readRestrictions(consent: Record<string, unknown> | null): UseRestrictions {
  const stored = consent?.[RESTRICTIONS_MEMBER]
  return isObject(stored) ? (stored as UseRestrictions) : {}
}
