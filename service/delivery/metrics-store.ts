import type { Database } from '../db/database.ts'

export interface AcceptanceCounts {
  /** Live deliveries that were planned and not skipped. */
  planned: number
  accepted: number
}

/** The outcomes of live deliveries that were planned on a UTC day (YYYY-MM-DD) or after it. */
export async function countAcceptance(
  { pool }: Database,
  trackerId: string,
  sinceDay: string,
): Promise<AcceptanceCounts> {
  const { rows } = await pool.query({
    name: 'count-acceptance',
    text: `select coalesce(sum(planned), 0) as planned, coalesce(sum(accepted), 0) as accepted
           from delivery_counts where tracker_id = $1::uuid and planned_on >= $2::date`,
    values: [trackerId, sinceDay],
  })
  return rows[0]
}
