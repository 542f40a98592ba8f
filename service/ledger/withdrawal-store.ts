import type { Database } from '../db/database.ts'
import { arrayLiteral } from '../db/row-arrays.ts'

/** A person by one of the keys that a withdrawal may have named them with. */
export interface VisitorKey {
  trackerId: string
  visitorId: string
}

/** Answers when any of these keys of a tracker was last withdrawn; null when none was. */
export type WithdrawalLookup = (trackerId: string, keys: readonly string[]) => Date | null

/** Looks up a batch of people at once; almost always nobody of them has withdrawn. */
export async function findWithdrawals(
  { pool }: Database,
  visitors: readonly VisitorKey[],
): Promise<WithdrawalLookup> {
  if (visitors.length === 0) return () => null
  const { rows } = await pool.query({
    name: 'find-withdrawals',
    text: `select withdrawal.tracker_id, withdrawal.visitor_id, withdrawn_at
           from unnest($1::uuid[], $2::text[]) as asked(tracker_id, visitor_id)
           join consent_withdrawals withdrawal
             on withdrawal.tracker_id = asked.tracker_id
             and withdrawal.visitor_id = asked.visitor_id`,
    values: [
      arrayLiteral(visitors.map(({ trackerId }) => trackerId)),
      arrayLiteral(visitors.map(({ visitorId }) => visitorId)),
    ],
  })
  if (rows.length === 0) return () => null
  const times = new Map<string, Date>(
    rows.map(row => [`${row.tracker_id} ${row.visitor_id}`, row.withdrawn_at]),
  )
  return (trackerId, keys) => {
    const found = keys.flatMap(key => times.get(`${trackerId} ${key}`) ?? [])
    return found.length === 0 ? null : new Date(Math.max(...found.map(Number)))
  }
}
