import type { Database } from '../db/database.ts'
import { type Destination, destinationOf } from './destination-store.ts'

export interface TestModeSwitch {
  trackerId: string
  destinationId: string
  /** Null switches it off. */
  testModeUntil: Date | null
  /** Null keeps the code that is there. */
  testEventCode: string | null
  /** Taken when there would be no code. */
  codeIfNone: string | null
  at: Date
}

/** One statement, so that of two requests at once the later one wins whole. */
export async function switchTestMode(
  { query }: Database,
  { trackerId, destinationId, testModeUntil, testEventCode, codeIfNone, at }: TestModeSwitch,
): Promise<Destination | null> {
  const row = await query
    .updateTable('destinations')
    .set(({ fn, ref, val }) => ({
      test_mode_until: testModeUntil,
      test_event_code: fn.coalesce(val(testEventCode), ref('test_event_code'), val(codeIfNone)),
      updated_at: at,
    }))
    .where('tracker_id', '=', trackerId)
    .where('id', '=', destinationId)
    .returningAll()
    .executeTakeFirst()
  return row ? destinationOf(row) : null
}
