import { EVENT_SUBCODES, type GraphError, invalidParameter } from './graph-errors.ts'
import { validateContents, validateValue } from './validate-custom-data.ts'
import { validateEventContext } from './validate-event-context.ts'
import { validateUserData } from './validate-user-data.ts'

export const EVENTS_MAX = 1_000

const DAY_SECONDS = 86_400
const AGE_DAYS_MAX = 7
const PHYSICAL_STORE_AGE_DAYS_MAX = 62
/** Meta documents no tolerance; clock skew explains up to five minutes. */
const AHEAD_SECONDS_MAX = 300

const ACTION_SOURCES = new Set([
  'email',
  'website',
  'app',
  'phone_call',
  'chat',
  'physical_store',
  'system_generated',
  'business_messaging',
  'other',
])

/**
 * Validates the events of one request as Meta does: one invalid event refuses the whole request.
 * Sources: Meta "Using the API", "Server Event Parameters".
 */
export function validateEvents(events: unknown[], now: Date): GraphError | undefined {
  if (events.length === 0) return wrongCount('The parameter data must contain at least one event.')
  if (events.length > EVENTS_MAX)
    return wrongCount(`The parameter data may contain at most ${EVENTS_MAX} events.`)

  const nowSeconds = Math.floor(now.getTime() / 1_000)
  for (const event of events) {
    const error = validateEvent(event, nowSeconds)
    if (error) return error
  }
  return undefined
}

function validateEvent(event: unknown, nowSeconds: number): GraphError | undefined {
  if (typeof event !== 'object' || event === null || Array.isArray(event))
    return malformed(['data'], 'Each event in data must be an object.')
  const members = event as Record<string, unknown>
  return (
    validateNames(members) ??
    validateTime(members, nowSeconds) ??
    validateEventContext(members) ??
    validateUserData(members.user_data) ??
    validateValue(members) ??
    validateContents(members.custom_data)
  )
}

function validateNames(event: Record<string, unknown>): GraphError | undefined {
  const { event_name, event_id, action_source } = event
  if (typeof event_name !== 'string' || event_name === '')
    return malformed(['event_name'], 'The parameter event_name is required.')
  if (event_id !== undefined && event_id !== null && typeof event_id !== 'string')
    return malformed(['event_id'], 'The parameter event_id must be a string.')
  if (action_source === undefined || action_source === null || action_source === '')
    return malformed(['action_source'], 'The parameter action_source is required.')
  if (typeof action_source !== 'string' || !ACTION_SOURCES.has(action_source))
    return invalidParameter(EVENT_SUBCODES.unknownActionSource, ['action_source'], {
      title: 'Unknown Action Source',
      message: `The parameter action_source must be one of ${[...ACTION_SOURCES].join(', ')}.`,
    })
  return undefined
}

function validateTime(
  { event_time, action_source }: Record<string, unknown>,
  nowSeconds: number,
): GraphError | undefined {
  if (!Number.isSafeInteger(event_time))
    return malformed(['event_time'], 'The parameter event_time must be integer Unix seconds.')
  const ageSeconds = nowSeconds - (event_time as number)
  const days = action_source === 'physical_store' ? PHYSICAL_STORE_AGE_DAYS_MAX : AGE_DAYS_MAX
  if (ageSeconds > days * DAY_SECONDS)
    return invalidParameter(EVENT_SUBCODES.tooOld, ['event_time'], {
      title: 'Event Timestamp Too Old',
      message: `Events must be sent within ${days} days of when they happened.`,
    })
  if (ageSeconds < -AHEAD_SECONDS_MAX)
    return invalidParameter(EVENT_SUBCODES.inTheFuture, ['event_time'], {
      title: 'Event Timestamp In The Future',
      message: 'The parameter event_time must be in seconds and must not be in the future.',
    })
  return undefined
}

function wrongCount(message: string): GraphError {
  return malformed(['data'], message)
}

function malformed(fieldPath: string[], message: string): GraphError {
  return invalidParameter(EVENT_SUBCODES.malformed, fieldPath, {
    title: 'Malformed Event',
    message,
  })
}
