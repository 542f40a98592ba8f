import type { EventSubmission } from '@signalbox/contract/submissions.ts'
import { VALUE_DATA_MEMBERS } from '@signalbox/contract/value-data.ts'
import { toDecimalText } from './decimal-text.ts'

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

const MONEY = ['value', 'predicted_ltv', 'net_revenue']

/** Maps a server event to the body of `POST /api/v1/events`. Other members keep their names. */
export function mapServerEvent(
  { event_source_url, custom_data = {}, ...event }: ServerEvent,
  consent: Record<string, unknown>,
): EventSubmission {
  const standard: Record<string, unknown> = {}
  const custom: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(custom_data)) {
    if (MONEY.includes(name)) standard[name] = toDecimalText(value)
    else if (VALUE_DATA_MEMBERS.has(name)) standard[name] = value
    else custom[name] = value
  }
  if (Object.keys(custom).length > 0) standard.custom_properties = custom
  return {
    ...event,
    consent_basis: 'consent',
    consent,
    ...(event_source_url && { event_source: event_source_url }),
    value_data: standard,
  }
}
