import { hash } from 'node:crypto'
import { type BatchColumn, toArrayParameters, unnestColumns } from '../db/sql-fragments.ts'

/**
 * Event IDs of secret keys and of publishable keys are separate: a web page can never claim the ID
 * of an event that the shop's back end sends.
 */
export type EventSpace = 'secret' | 'publishable'

/** The value in the column `space`. */
export const SPACE_NUMBERS: Record<EventSpace, number> = { secret: 0, publishable: 1 }

/** The column value of an event from before there were spaces: it occupies its ID in both. */
export const BOTH_SPACES = 2

const DIGEST_HEX_DIGITS = 32

/** The first 128 bits of SHA-256 of an event id; `signalbox_store.event_id_digest` in SQL. */
export function digestEventId(eventId: string): string {
  return hash('sha256', eventId, 'hex').slice(0, DIGEST_HEX_DIGITS)
}

/** The primary key of an event within its tracker. */
export interface EventRef {
  eventId: string
  createdAt: Date
  /** The column `space`. */
  space: number
}

export const EVENT_REF_COLUMNS: readonly BatchColumn<EventRef>[] = [
  { name: 'created_at', type: 'timestamptz', text: ({ createdAt }) => createdAt.toISOString() },
  { name: 'event_id', type: 'text', text: ({ eventId }) => eventId },
  { name: 'space', type: 'smallint', text: ({ space }) => String(space) },
]

/** SQL for a table of references from three parameters: created_at, event_id, space. */
export function unnestEventRefs(alias: string, firstParameter: number): string {
  return unnestColumns(EVENT_REF_COLUMNS, { alias, firstParameter })
}

/** The three parameters of `unnestEventRefs`. */
export function eventRefValues(refs: readonly EventRef[]): string[] {
  return toArrayParameters(EVENT_REF_COLUMNS, refs)
}

/**
 * The time in the key of an event's payload, as SQL. Payloads from before there were spaces have no
 * time.
 */
export function payloadCreatedAt(event: string): string {
  return `case ${event}.space when ${BOTH_SPACES} then '-infinity' else ${event}.created_at end`
}

/** A key that is unique among the events of one tracker. */
export function eventRefKey({ eventId, space }: Pick<EventRef, 'eventId' | 'space'>): string {
  return `${space} ${eventId}`
}
