import type {
  EventSubmission,
  EventTime,
  IngestionNotice,
  IngestionWarning,
} from './contract.generated.ts'
import { InvalidArgumentError } from './errors.ts'
import type { Hooks } from './hooks.ts'
import { type Result, send } from './request.ts'
import { encodeBody } from './request-body.ts'
import type { CallOptions, Settings } from './settings.ts'

export interface PreparedEvent {
  id: string
  /** The body as JSON: later changes of the event do not reach it. */
  json: string
  /** Of the JSON as UTF-8. */
  bytes: number
  /** The event had no id. */
  isGenerated: boolean
}

/**
 * The body of an event: with an id, so that a retry does not count it twice, and with its time as
 * the API takes it. The event itself is not changed. Throws an InvalidArgumentError for what cannot
 * be sent.
 */
export function prepareEvent(event: EventSubmission): PreparedEvent {
  if (typeof event !== 'object' || event === null) {
    throw new InvalidArgumentError('An event must be an object.')
  }
  const isGenerated = event.event_id === undefined || event.event_id === null
  const id = isGenerated ? `evt_${crypto.randomUUID()}` : (event.event_id as string)
  const { event_time: time } = event
  const body = {
    ...event,
    event_id: id,
    ...(time !== undefined && time !== null && { event_time: formatTime(time, 'event_time') }),
  }
  const json = encodeBody(body)
  return { id, json, bytes: encoder.encode(json).byteLength, isGenerated }
}

const encoder = new TextEncoder()

/** Submits one event by itself. */
export async function sendEvent(
  settings: Settings,
  { id, json, isGenerated }: PreparedEvent,
  options?: CallOptions,
): Promise<Result<CreatedEvent>> {
  const operation = 'events.create'
  const result = await send<CreatedEvent>(
    settings,
    {
      operation,
      method: 'POST',
      path: '/events',
      json: () => json,
      // An id of the caller may have characters that a header cannot hold.
      ...(isGenerated && { headers: { 'Idempotency-Key': id } }),
    },
    options,
  )
  result.event_id ??= id
  warnOfDifference(settings.hooks, operation, result)
  return result
}

/** Unix seconds have ten digits for the next 260 years. */
const SECONDS_MAX = 99_999_999_999

/** Seconds and text as they are, a Date as ISO 8601. */
export function formatTime(time: EventTime, name: string): string | number {
  if (typeof time === 'number' && Math.abs(time) > SECONDS_MAX) {
    throw new InvalidArgumentError(`${name} is in milliseconds. Use a Date, or Unix seconds.`)
  }
  if (!(time instanceof Date)) return time
  if (Number.isNaN(time.getTime())) throw new InvalidArgumentError(`${name} is an invalid Date.`)
  return time.toISOString()
}

/**
 * Warns that another event is stored under the id, so that this one does not count. It is no error:
 * a program that repeats an event with a new time gets it too.
 */
export function warnOfDifference(
  { onWarning }: Hooks,
  operation: string,
  created: Partial<CreatedEvent>,
): void {
  const { event_id: eventId = '', notices } = created
  if (!Array.isArray(notices)) return
  const notice = notices.find(one => one?.code === 'differs_from_stored')
  if (!notice) return
  const { code, message } = notice
  if (onWarning) onWarning({ operation, eventId, code, message })
  else console.warn(`Signalbox: ${eventId}: ${message}`)
}

/** The answer to an event. */
export interface CreatedEvent {
  event_id: string
  /** The tracker already has an event with this id: nothing was counted twice. */
  duplicate: boolean
  warnings?: IngestionWarning[]
  /** Members that were accepted without their full effect. */
  notices?: IngestionNotice[]
}
