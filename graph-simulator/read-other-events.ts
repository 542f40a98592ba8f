import type { EventSource, GivenEvent } from './event-counts.ts'
import { checkObject, type FieldErrors, integer, list, object, oneOf, text } from './field-check.ts'

/** Events that somebody else gave the platform. */
export interface OtherEvents {
  source: EventSource
  events: GivenEvent[]
}

const EVENTS_MAX = 1_000
const COUNT_MAX = 1_000_000
const TEXT_LENGTH_MAX = 1_000
const SECONDS_MAX = 2 ** 33
/** What the platform takes: as far back as its reports reach, and what clock skew can explain. */
const AGE_SECONDS_MAX = 7 * 86_400
const AHEAD_SECONDS_MAX = 300

const EVENT = {
  event_name: text(1, TEXT_LENGTH_MAX),
  event_time: integer(0, SECONDS_MAX),
  event_id: text(1, TEXT_LENGTH_MAX),
  count: integer(1, COUNT_MAX),
}

const BODY = {
  dataset: digits,
  source: oneOf('server', 'browser'),
  events: list(object(EVENT, ['event_name', 'event_time']), EVENTS_MAX),
}

interface Body {
  dataset: string
  source: EventSource
  events: { event_name: string; event_time: number; event_id?: string; count?: number }[]
}

/** Reads the body of POST /_simulator/other-events; names every wrong field by its dotted path. */
export function readOtherEvents(
  body: unknown,
  now: Date,
): { others: OtherEvents } | { errors: FieldErrors } {
  const errors: FieldErrors = {}
  const required = ['dataset', 'source', 'events']
  checkObject(body, { path: '', members: BODY, required }, errors)
  if (Object.keys(errors).length > 0) return { errors }
  const { dataset, source, events } = body as Body
  for (const [index, event] of events.entries()) checkTogether(event, { index, now, errors })
  if (Object.keys(errors).length > 0) return { errors }
  const given = events.map(({ event_name, event_time, event_id, count = 1 }) => ({
    dataset,
    eventName: event_name,
    eventId: event_id ?? null,
    eventTime: new Date(event_time * 1_000),
    isTest: false,
    count,
  }))
  return { others: { source, events: given } }
}

function checkTogether(
  { event_time, event_id, count }: Body['events'][number],
  { index, now, errors }: { index: number; now: Date; errors: FieldErrors },
): void {
  const ageSeconds = Math.floor(now.getTime() / 1_000) - event_time
  if (ageSeconds > AGE_SECONDS_MAX || ageSeconds < -AHEAD_SECONDS_MAX)
    errors[`events.${index}.event_time`] = ['Must lie in the last 7 days.']
  if (event_id !== undefined && count !== undefined && count > 1)
    errors[`events.${index}.count`] = ['An event_id names one event: leave out count.']
}

function digits(value: unknown, path: string, errors: FieldErrors): void {
  if (typeof value !== 'string' || !/^\d{1,32}$/.test(value))
    errors[path] = ['Must be a string of 1 to 32 digits.']
}
