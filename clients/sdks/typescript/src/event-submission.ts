import type {
  EventSubmission,
  EventTime,
  IngestionNotice,
  IngestionWarning,
} from './contract.generated.ts'
import { InvalidArgumentError } from './errors.ts'

export interface PreparedEvent {
  id: string
  body: Record<string, unknown>
  /** The event had no id. */
  isGenerated: boolean
}

/**
 * The body of an event: with an id, so that a retry does not count it twice, and with its time as
 * the API takes it. The event itself is not changed.
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
  return { id, body, isGenerated }
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

/** The answer to an event. */
export interface CreatedEvent {
  event_id: string
  /** The tracker already has an event with this id: nothing was counted twice. */
  duplicate: boolean
  warnings?: IngestionWarning[]
  /** Members that were accepted without their full effect. */
  notices?: IngestionNotice[]
}
