import type { Database } from '../../runtime/db/database.ts'

/** Two deletes per insert: the table shrinks to the acceptable window at a bounded cost. */
const EXPIRED_ROWS_MAX = 2

export interface ForwardedSignature {
  trackerId: string
  signature: Buffer
  forwardedAt: Date
  /** Signatures forwarded before this time have expired for every process. */
  expireBefore: Date
}

/**
 * Stores the signature of a forwarded request. False when it exists already: the request is a
 * replay, no matter which process received the first one.
 */
export async function insertForwardedSignature(
  { pool }: Database,
  { trackerId, signature, forwardedAt, expireBefore }: ForwardedSignature,
): Promise<boolean> {
  const { rows } = await pool.query({
    name: 'insert-forwarded-signature',
    text: `with expired as (
             delete from forwarded_signatures
             where tracker_id = $1::uuid and signature in (
               select signature from forwarded_signatures
               where tracker_id = $1::uuid and forwarded_at < $4::timestamptz
               order by forwarded_at limit ${EXPIRED_ROWS_MAX} for update skip locked))
           insert into forwarded_signatures (tracker_id, signature, forwarded_at)
           values ($1::uuid, $2::bytea, $3::timestamptz)
           on conflict (tracker_id, signature) do nothing
           returning tracker_id`,
    values: [trackerId, signature, forwardedAt, expireBefore],
  })
  return rows.length === 1
}

/**
 * The latest time for which a forwarder of the tracker signed a request with a valid signature;
 * null when none is kept. Signatures are kept for a quarter of an hour or longer.
 */
export async function findLastForwarding(
  { pool }: Database,
  trackerId: string,
): Promise<Date | null> {
  const { rows } = await pool.query({
    name: 'find-last-forwarding',
    text: `select forwarded_at from forwarded_signatures where tracker_id = $1::uuid
           order by forwarded_at desc limit 1`,
    values: [trackerId],
  })
  return rows[0]?.forwarded_at ?? null
}
