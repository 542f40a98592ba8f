import type { EventSource, PlatformEvent } from './event-counts.ts'
import { checkObject, type FieldErrors, integer, list, object, oneOf, text } from './field-check.ts'
import { type HttpResponse, invalidBodyResponse, jsonResponse } from './http-messages.ts'
import type { SimulatorState } from './simulator-state.ts'
import { parseStatsOptions, STATS_OPTIONS_DEFAULT } from './stats-options.ts'

/** GET /_simulator/stats: how the stats edge counts. */
export function showStats(state: SimulatorState): HttpResponse {
  return jsonResponse(200, state.stats)
}

/** POST /_simulator/stats: changes how events are counted, earlier events included. */
export function replaceStats(state: SimulatorState, { body }: { body: unknown }): HttpResponse {
  const parsed = parseStatsOptions(body)
  if ('errors' in parsed) return invalidBodyResponse(parsed.errors)
  state.stats = parsed.options
  return showStats(state)
}

/** DELETE /_simulator/stats: restores the defaults. */
export function resetStats(state: SimulatorState): HttpResponse {
  state.stats = STATS_OPTIONS_DEFAULT
  return showStats(state)
}

/** POST /_simulator/other-events: adds events of other senders. */
export function addOtherEvents(state: SimulatorState, { body }: { body: unknown }): HttpResponse {
  const now = state.now()
  const parsed = parseOtherEvents(body, now)
  if ('errors' in parsed) return invalidBodyResponse(parsed.errors)
  const { source, events } = parsed.others
  let added = 0
  for (const event of events) {
    if (source === 'server') state.counts.countServer(event, now, true)
    else state.counts.countBrowser(event, now)
    added += event.count
  }
  return jsonResponse(200, { added })
}

/** DELETE /_simulator/other-events: removes the events of other senders. */
export function clearOtherEvents(state: SimulatorState): HttpResponse {
  state.counts.clearOtherSenders()
  return jsonResponse(200, { added: 0 })
}

/** Events of another sender. */
interface OtherEvents {
  source: EventSource
  events: PlatformEvent[]
}

const EVENTS_MAX = 1_000
const COUNT_MAX = 1_000_000
const TEXT_LENGTH_MAX = 1_000
const SECONDS_MAX = 2 ** 33
/** As far back as the reports reach, and as far ahead as clock skew explains. */
const AGE_SECONDS_MAX = 7 * 86_400
const AHEAD_SECONDS_MAX = 300

const EVENT = {
  event_name: text(1, TEXT_LENGTH_MAX),
  event_time: integer(0, SECONDS_MAX),
  event_id: text(1, TEXT_LENGTH_MAX),
  count: integer(1, COUNT_MAX),
}

const BODY = {
  dataset: checkDatasetId,
  source: oneOf('server', 'browser'),
  events: list(object(EVENT, ['event_name', 'event_time']), EVENTS_MAX),
}

interface Body {
  dataset: string
  source: EventSource
  events: { event_name: string; event_time: number; event_id?: string; count?: number }[]
}

/** Parses the body of POST /_simulator/other-events; errors name every invalid field. */
function parseOtherEvents(
  body: unknown,
  now: Date,
): { others: OtherEvents } | { errors: FieldErrors } {
  const errors: FieldErrors = {}
  const required = ['dataset', 'source', 'events']
  checkObject(body, { path: '', members: BODY, required }, errors)
  if (Object.keys(errors).length > 0) return { errors }
  const { dataset, source, events } = body as Body
  for (const [index, event] of events.entries()) checkEvent(event, { index, now, errors })
  if (Object.keys(errors).length > 0) return { errors }
  const platformEvents = events.map(({ event_name, event_time, event_id, count = 1 }) => ({
    dataset,
    eventName: event_name,
    eventId: event_id ?? null,
    eventTime: new Date(event_time * 1_000),
    isTest: false,
    count,
  }))
  return { others: { source, events: platformEvents } }
}

function checkEvent(
  { event_time, event_id, count }: Body['events'][number],
  { index, now, errors }: { index: number; now: Date; errors: FieldErrors },
): void {
  const ageSeconds = Math.floor(now.getTime() / 1_000) - event_time
  if (ageSeconds > AGE_SECONDS_MAX || ageSeconds < -AHEAD_SECONDS_MAX)
    errors[`events.${index}.event_time`] = ['Must be within the last 7 days.']
  if (event_id !== undefined && count !== undefined && count > 1)
    errors[`events.${index}.count`] = ['An event_id identifies one event: omit count.']
}

function checkDatasetId(value: unknown, path: string, errors: FieldErrors): void {
  if (typeof value !== 'string' || !/^\d{1,32}$/.test(value))
    errors[path] = ['Must be a string of 1 to 32 digits.']
}
