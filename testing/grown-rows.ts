import { createHash } from 'node:crypto'
import type { EventRef } from '../service/events/event-ref.ts'
import { GROWN_ON } from './grown-store.ts'

/** Rows that one statement takes. */
export const ROWS = 1_000

export function numbers(count = ROWS): number[] {
  return Array.from({ length: count }, (_, index) => index + 1)
}

/** The id of an event that `growStore` made. */
export function idOf(number: number): string {
  return createHash('md5').update(String(number)).digest('hex')
}

export function grownIds(count = ROWS): string[] {
  return numbers(count)
    .filter(number => number % 100 !== 0)
    .map(idOf)
}

/** When `growStore` has the event come in. */
export function createdAtOf(number: number): Date {
  return new Date(Date.parse(`${GROWN_ON}T00:00:00.000Z`) + number * 100)
}

export function grownPlaces(count = ROWS): EventRef[] {
  return numbers(count)
    .filter(number => number % 100 !== 0)
    .map(number => ({ eventId: idOf(number), createdAt: createdAtOf(number), space: 0 }))
}
