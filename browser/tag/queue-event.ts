import { randomId } from './random-id.ts'
import { reportTo } from './report-to.ts'
import type { Callback, EventParameters, TagState, WaitingEvent } from './tag-state.ts'

/** Kept in memory while nobody knows the basis; beyond it the oldest are dropped. */
const WAITING_EVENTS_MAX = 50

/** Lets an event wait as it is now, with its id and URL; only the consent may come later. */
export function queueEvent(
  { page, waiting }: TagState,
  parameters: EventParameters & { event_name: string },
  callback: Callback | undefined,
): void {
  const event_id = parameters.event_id || randomId()
  const event_source = parameters.event_source || page.location.href.replace(/#.*/, '')
  const text = JSON.stringify({ ...parameters, event_id, event_source }, withoutClient)
  waiting.push({ members: JSON.parse(text) as WaitingEvent['members'], callback })
  const oldest = waiting[WAITING_EVENTS_MAX] && waiting.shift()
  if (oldest) reportTo(oldest.members.event_id, oldest.callback)('dropped')
}

/** Address and user agent are the trusted edge's to give (specification: rule 4 on consent). */
function withoutClient(name: string, value: unknown): unknown {
  return name === 'client_ip_address' || name === 'client_user_agent' ? undefined : value
}
