import { createHash } from 'node:crypto'
import { arrayLiteral } from '../db/row-arrays.ts'

/**
 * Event ids of secret keys and of publishable keys live apart: a page can never take the id of an
 * event that a shop's back end sends.
 */
export type EventSpace = 'secret' | 'publishable'

/** As the column `space` holds it. */
export const SPACE_NUMBERS: Record<EventSpace, number> = { secret: 0, publishable: 1 }

/** Of an event that was stored before there were spaces: its id is taken in both. */
export const BOTH_SPACES = 2

const DIGEST_HEX_DIGITS = 32

/** The first 128 bits of SHA-256 of an event id; `signalbox_store.event_id_digest` in SQL. */
export function eventIdDigest(eventId: string): string {
  return createHash('sha256').update(eventId).digest('hex').slice(0, DIGEST_HEX_DIGITS)
}

/** Where an event lies: its id is unique within its space, and its key begins with the time. */
export interface EventPlace {
  eventId: string
  createdAt: Date
  /** The column `space` of the event. */
  space: number
}

/** Parameters for `unnest($::timestamptz[], $::text[], $::smallint[])`. */
export function placeArrays(places: readonly EventPlace[]): [string, string, string] {
  return [
    arrayLiteral(places.map(({ createdAt }) => createdAt.toISOString())),
    arrayLiteral(places.map(({ eventId }) => eventId)),
    arrayLiteral(places.map(({ space }) => String(space))),
  ]
}

/** Tells the events of one tracker apart. */
export function placeKey({ eventId, space }: Pick<EventPlace, 'eventId' | 'space'>): string {
  return `${space} ${eventId}`
}
