import { hash } from 'node:crypto'
import { type BatchColumn, toArrayParameters, unnestColumns } from '../db/sql-fragments.ts'

/**
 * Event ids of secret keys and of publishable keys live apart: a page can never take the id of an
 * event that a shop's back end sends.
 */
export type EventSpace = 'secret' | 'publishable'

/** As the column `space` holds it. */
export const SPACE_NUMBERS: Record<EventSpace, number> = { secret: 0, publishable: 1 }

/** The same of an event that was stored before there were spaces: its id is taken in both. */
export const BOTH_SPACES = 2

const DIGEST_HEX_DIGITS = 32

/** The first 128 bits of SHA-256 of an event id; `signalbox_store.event_id_digest` in SQL. */
export function digestEventId(eventId: string): string {
  return hash('sha256', eventId, 'hex').slice(0, DIGEST_HEX_DIGITS)
}

/** Where an event lies: its id is unique within its space, and its key begins with the time. */
export interface EventRef {
  eventId: string
  createdAt: Date
  /** The column `space` of the event. */
  space: number
}

export const EVENT_REF_COLUMNS: readonly BatchColumn<EventRef>[] = [
  { name: 'created_at', type: 'timestamptz', text: ({ createdAt }) => createdAt.toISOString() },
  { name: 'event_id', type: 'text', text: ({ eventId }) => eventId },
  { name: 'space', type: 'smallint', text: ({ space }) => String(space) },
]

/** The places as a table of three parameters, as SQL: created_at, event_id, space. */
export function unnestEventRefs(alias: string, firstParameter: number): string {
  return unnestColumns(EVENT_REF_COLUMNS, { alias, firstParameter })
}

/** The three parameters of `unnestEventRefs`. */
export function eventRefValues(places: readonly EventRef[]): string[] {
  return toArrayParameters(EVENT_REF_COLUMNS, places)
}

/**
 * The time in the key of the payload of `event`, as SQL: payloads that were stored before there
 * were spaces have no time of their own.
 */
export function payloadCreatedAt(event: string): string {
  return `case ${event}.space when ${BOTH_SPACES} then '-infinity' else ${event}.created_at end`
}

/** Tells the events of one tracker apart. */
export function eventRefKey({ eventId, space }: Pick<EventRef, 'eventId' | 'space'>): string {
  return `${space} ${eventId}`
}
