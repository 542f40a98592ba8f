import type { Database } from '../db/database.ts'

/** Two for one: the table shrinks to what is in time, and no request pays for many. */
const EXPIRED_ROWS_MAX = 2

export interface ForwardedSignature {
  trackerId: string
  signature: Buffer
  forwardedAt: Date
  /** What was forwarded before is out of time by now, for every process. */
  expireBefore: Date
}

/**
 * Keeps the signature of a forwarded request, durably. False when it is there already: the request
 * is a replay, to whichever process it came first.
 */
export async function insertForwardedSignature(
  { pool }: Database,
  { trackerId, signature, forwardedAt, expireBefore: forgetBefore }: ForwardedSignature,
): Promise<boolean> {
  const { rows } = await pool.query({
    name: 'remember-signature',
    text: `with forgotten as (
             delete from forwarded_signatures
             where tracker_id = $1::uuid and signature in (
               select signature from forwarded_signatures
               where tracker_id = $1::uuid and forwarded_at < $4::timestamptz
               order by forwarded_at limit ${EXPIRED_ROWS_MAX} for update skip locked))
           insert into forwarded_signatures (tracker_id, signature, forwarded_at)
           values ($1::uuid, $2::bytea, $3::timestamptz)
           on conflict (tracker_id, signature) do nothing
           returning tracker_id`,
    values: [trackerId, signature, forwardedAt, forgetBefore],
  })
  return rows.length === 1
}
