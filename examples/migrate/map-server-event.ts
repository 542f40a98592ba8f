import type { EventSubmission, ValueData } from '@signalbox/sdk'
import { fitAndLog } from './fit-event.ts'

/** A server event that your own code sends to Meta's Conversions API. */
export interface ServerEvent {
  event_name: string
  event_time: number
  event_id: string
  action_source: string
  event_source_url?: string
  user_data: Record<string, unknown>
  custom_data?: Record<string, unknown>
  [member: string]: unknown
}

/** The members of `value_data` with the name that they have in `custom_data`. */
const STANDARD = {
  value: true,
  currency: true,
  order_id: true,
  contents: true,
  num_items: true,
  content_type: true,
  content_ids: true,
  content_name: true,
  content_category: true,
  search_string: true,
  status: true,
  predicted_ltv: true,
  net_revenue: true,
  delivery_category: true,
} satisfies Record<Exclude<keyof ValueData, 'custom_properties'>, true>

/**
 * Maps a server event to the body of `POST /api/v1/events`. Other members keep their names. `log`
 * gets a line for each member that the service would refuse and that is left out.
 */
export function mapServerEvent(
  { event_source_url, custom_data, ...event }: ServerEvent,
  consent: Record<string, unknown>,
  { log }: { log?: (line: string) => void } = {},
): EventSubmission {
  const members = Object.entries(custom_data ?? {})
  const isStandard = ([name]: [string, unknown]) => Object.hasOwn(STANDARD, name)
  const standard: Record<string, unknown> = Object.fromEntries(members.filter(isStandard))
  const custom = members.filter(member => !isStandard(member))
  if (custom.length > 0) standard.custom_properties = Object.fromEntries(custom)
  const body = {
    ...event,
    consent_basis: 'consent' as const,
    consent,
    ...(event_source_url && { event_source: event_source_url }),
    value_data: standard,
  }
  return fitAndLog<EventSubmission>(body, log)
}
