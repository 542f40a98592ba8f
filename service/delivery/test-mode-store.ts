import type { Transaction } from '../db/database.ts'
import { type Destination, destinationOf } from './destination-store.ts'

export interface DestinationName {
  trackerId: string
  destinationId: string
}

export type TestMode = Pick<Destination, 'testModeUntil' | 'testEventCode'>

/**
 * How test mode is; until the transaction ends nobody else switches it, so that of two requests at
 * once the later one wins whole. Null: the tracker has no such destination.
 */
export async function lockTestMode(
  { query }: Transaction,
  { trackerId, destinationId }: DestinationName,
): Promise<TestMode | null> {
  const row = await query
    .selectFrom('destinations')
    .select(['test_mode_until', 'test_event_code'])
    .where('tracker_id', '=', trackerId)
    .where('id', '=', destinationId)
    .forNoKeyUpdate()
    .executeTakeFirst()
  return row ? { testModeUntil: row.test_mode_until, testEventCode: row.test_event_code } : null
}

export async function switchTestMode(
  { query }: Transaction,
  { trackerId, destinationId }: DestinationName,
  { testModeUntil, testEventCode, at }: TestMode & { at: Date },
): Promise<Destination> {
  const row = await query
    .updateTable('destinations')
    .set({ test_mode_until: testModeUntil, test_event_code: testEventCode, updated_at: at })
    .where('tracker_id', '=', trackerId)
    .where('id', '=', destinationId)
    .returningAll()
    .executeTakeFirstOrThrow()
  return destinationOf(row)
}
