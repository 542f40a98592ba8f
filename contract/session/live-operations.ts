import { MessageError } from '../errors.ts'
import { LiveQuery } from './live.ts'
import { ALL_REFUSALS, Nothing, query } from './session-operation.ts'
import { TRACKER_PATH } from './tracker-operations.ts'

const watch = query('watchEvents', `${TRACKER_PATH}/live`, {
  querystring: LiveQuery,
  response: { 200: Nothing, ...ALL_REFUSALS, 429: MessageError, 503: MessageError },
})

/**
 * A stream of server-sent events (HTML standard, section 9.2), each with a `LiveMessage` as its
 * data. It resumes from the header `Last-Event-ID`, or from `?last_event_id=` in a new connection.
 * 429: the person, the workspace or the address has as many streams as it may have. 503: the
 * process has.
 */
export const watchEvents = {
  ...watch,
  config: { ...watch.config, isStream: true },
  exposeHeadRoute: false,
} as const

export const LIVE_OPERATIONS = [watchEvents] as const
