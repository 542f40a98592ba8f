import type { EventSource, PlatformEvent } from './event-counts.ts'
import { checkObject, type FieldErrors, integer, list, object, oneOf, text } from './field-check.ts'
import { type HttpResponse, invalidBodyResponse, jsonResponse } from './http-messages.ts'
import type { SimulatorState } from './simulator-state.ts'
import { parseStatsOptions, STATS_OPTIONS_DEFAULT } from './stats-options.ts'

/** GET /_simulator/stats: how the stats edge counts. */
export function showStats(state: SimulatorState): HttpResponse {
  return jsonResponse(200, state.stats)
}

/** POST /_simulator/stats: counts in another way from now on, also what came before. */
export function replaceStats(state: SimulatorState, { body }: { body: unknown }): HttpResponse {
  const reading = parseStatsOptions(body)
  if ('errors' in reading) return invalidBodyResponse(reading.errors)
  state.stats = reading.options
  return showStats(state)
}

/** DELETE /_simulator/stats: counts as at the start. */
export function resetStats(state: SimulatorState): HttpResponse {
  state.stats = STATS_OPTIONS_DEFAULT
  return showStats(state)
}

/** POST /_simulator/other-events: the platform gets events from somebody else. */
export function addOtherEvents(state: SimulatorState, { body }: { body: unknown }): HttpResponse {
  const now = state.now()
  const reading = parseOtherEvents(body, now)
  if ('errors' in reading) return invalidBodyResponse(reading.errors)
  const { source, events } = reading.others
  let added = 0
  for (const event of events) {
    if (source === 'server') state.counts.countServer(event, now, true)
    else state.counts.countBrowser(event, now)
    added += event.count
  }
  return jsonResponse(200, { added })
}

/** DELETE /_simulator/other-events: as if nobody else had given anything. */
export function clearOtherEvents(state: SimulatorState): HttpResponse {
  state.counts.forgetOthers()
  return jsonResponse(200, { added: 0 })
}

/** Events that somebody else gave the platform. */
interface OtherEvents {
  source: EventSource
  events: PlatformEvent[]
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
  dataset: checkDatasetId,
  source: oneOf('server', 'browser'),
  events: list(object(EVENT, ['event_name', 'event_time']), EVENTS_MAX),
}

interface Body {
  dataset: string
  source: EventSource
  events: { event_name: string; event_time: number; event_id?: string; count?: number }[]
}

/** Reads the body of POST /_simulator/other-events; names every wrong field by its dotted path. */
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

function checkEvent(
  { event_time, event_id, count }: Body['events'][number],
  { index, now, errors }: { index: number; now: Date; errors: FieldErrors },
): void {
  const ageSeconds = Math.floor(now.getTime() / 1_000) - event_time
  if (ageSeconds > AGE_SECONDS_MAX || ageSeconds < -AHEAD_SECONDS_MAX)
    errors[`events.${index}.event_time`] = ['Must lie in the last 7 days.']
  if (event_id !== undefined && count !== undefined && count > 1)
    errors[`events.${index}.count`] = ['An event_id names one event: leave out count.']
}

function checkDatasetId(value: unknown, path: string, errors: FieldErrors): void {
  if (typeof value !== 'string' || !/^\d{1,32}$/.test(value))
    errors[path] = ['Must be a string of 1 to 32 digits.']
}
