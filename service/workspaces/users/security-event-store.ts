import type { Database } from '../../runtime/db/database.ts'

export interface NewSecurityEvent {
  at: Date
  type: string
  /** Null when the account is not known. */
  userId: number | null
  clientAddress: string | null
  requestId: string | null
  details: Record<string, string>
}

export async function insertSecurityEvent(
  { query }: Database,
  event: NewSecurityEvent,
): Promise<void> {
  await query
    .insertInto('security_events')
    .values({
      at: event.at,
      type: event.type,
      user_id: event.userId,
      client_address: event.clientAddress,
      request_id: event.requestId,
      details: JSON.stringify(event.details),
    })
    .execute()
}

export interface StoredSecurityEvent extends Omit<NewSecurityEvent, 'details'> {
  id: number
  details: Record<string, unknown>
}

/** The position after which a page starts. */
export type SecurityEventPosition = Pick<StoredSecurityEvent, 'at' | 'id'>

interface SecurityEventRange {
  since: Date
  /** Null for the first page. */
  after: SecurityEventPosition | null
  limit: number
}

/** A page of events, oldest first. */
export async function listSecurityEvents(
  { query }: Database,
  { since, after, limit }: SecurityEventRange,
): Promise<StoredSecurityEvent[]> {
  let page = query
    .selectFrom('security_events')
    .selectAll()
    .where('at', '>=', since)
    .orderBy('at')
    .orderBy('id')
    .limit(limit)
  if (after) {
    const { at, id } = after
    page = page.where(({ eb, refTuple, tuple }) => eb(refTuple('at', 'id'), '>', tuple(at, id)))
  }
  return (await page.execute()).map(row => ({
    id: row.id,
    at: row.at,
    type: row.type,
    userId: row.user_id,
    clientAddress: row.client_address,
    requestId: row.request_id,
    details: row.details as unknown as Record<string, unknown>,
  }))
}

const BATCH_ROWS_MAX = 10_000

/** Deletes events before a time, in batches, so that no lock lasts long. Returns their number. */
export async function deleteSecurityEventsBefore(
  { query }: Database,
  before: Date,
): Promise<number> {
  let deleted = 0
  for (;;) {
    const { length } = await query
      .deleteFrom('security_events')
      .where('id', 'in', selection =>
        selection
          .selectFrom('security_events')
          .select('id')
          .where('at', '<', before)
          .orderBy('at')
          .limit(BATCH_ROWS_MAX),
      )
      .returning('id')
      .execute()
    deleted += length
    if (length < BATCH_ROWS_MAX) return deleted
  }
}
