import { meetsMatchingFloor } from '../../identity/match-floor.ts'
import type { OutboundEvent } from '../platform.ts'
import type { SendError } from '../send-outcome.ts'

/** Meta: Server Event Parameters, `action_source`. */
const ACTION_SOURCES = [
  'email',
  'website',
  'app',
  'phone_call',
  'chat',
  'physical_store',
  'system_generated',
  'business_messaging',
  'other',
]

/**
 * Why Meta would refuse this event. It is checked before sending, because Meta refuses the whole
 * batch for one bad event.
 */
export function metaEventFault(event: OutboundEvent): SendError | null {
  const message = faultOf(event)
  if (message === null) return null
  return {
    class: 'local',
    code: null,
    subcode: null,
    message,
    user_title: null,
    user_message: null,
    http_status: null,
  }
}

function faultOf(event: OutboundEvent): string | null {
  if (!ACTION_SOURCES.includes(event.actionSource)) {
    return `The action_source must be one of ${ACTION_SOURCES.join(', ')}.`
  }
  if (!meetsMatchingFloor([...Object.keys(event.digests), ...Object.keys(event.plain)])) {
    return 'The user_data holds too little to match a person: add an e-mail, phone or external_id.'
  }
  if (event.eventName === 'Purchase' && event.valueAmount === null) {
    return 'A Purchase needs value_data.value.'
  }
  if (event.eventName === 'Purchase' && event.valueAmount?.startsWith('-')) {
    return 'A Purchase cannot have a negative value.'
  }
  return null
}
