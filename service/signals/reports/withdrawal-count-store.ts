import { COUNTED_WITHDRAWALS_MAX } from '@signalbox/contract/session/issues.ts'
import type { Database } from '../../runtime/db/database.ts'
import { arrayLiteral } from '../../runtime/db/sql-fragments.ts'

export interface WithdrawalHour {
  workspaceId: number
  trackerId: string
  trackerName: string
  /** Of the busiest hour: one for each visitor, whatever the number of platforms. */
  withdrawals: number
}

const TRACKERS_PER_STATEMENT = 1_000

/**
 * Trackers whose pages sent at least so many withdrawals in one hour since a time that are still in
 * force. It names the trackers, so that it reads by the index instead of all withdrawals.
 */
export async function listWithdrawalHours(
  { pool }: Pick<Database, 'pool'>,
  { from, withdrawalsMin }: { from: Date; withdrawalsMin: number },
): Promise<WithdrawalHour[]> {
  const found: WithdrawalHour[] = []
  for (let afterId = FIRST_ID; ; ) {
    const { rows: trackers } = await pool.query(
      `select id, workspace_id, name from trackers where id > $1::uuid order by id
       limit $2::integer`,
      [afterId, TRACKERS_PER_STATEMENT],
    )
    const { rows } = await pool.query(
      `select tracker_id, max(withdrawals) as withdrawals from (
         select tracker_id, count(distinct visitor_id) as withdrawals from page_withdrawals
         where tracker_id = any($1::uuid[]) and withdrawn_at >= $2::timestamptz
           and lifted_at is null
         group by tracker_id, date_trunc('hour', withdrawn_at, 'UTC')
         having count(distinct visitor_id) >= $3::integer
       ) as hours group by tracker_id order by tracker_id`,
      [arrayLiteral(trackers.map(({ id }) => id)), from.toISOString(), withdrawalsMin],
    )
    for (const { tracker_id: trackerId, withdrawals } of rows) {
      const { workspace_id: workspaceId, name } = trackers.find(({ id }) => id === trackerId)
      found.push({ workspaceId, trackerId, trackerName: name, withdrawals })
    }
    if (trackers.length < TRACKERS_PER_STATEMENT) return found
    afterId = trackers.at(-1).id
  }
}

/** Sorts before every other ID. */
const FIRST_ID = '00000000-0000-0000-0000-000000000000'

/**
 * Visitors with a withdrawal by a page since a time, lifted or not, that reaches events of pages
 * only: others could have guessed their visitor ID. Only the latest withdrawals are read.
 */
export async function countPageOnlyWithdrawals(
  { pool }: Pick<Database, 'pool'>,
  { trackerId, from }: { trackerId: string; from: Date },
): Promise<number> {
  const { rows } = await pool.query({
    name: 'count-page-only-withdrawals',
    text: `select count(distinct visitor_id) filter (where not reaches_secret) as count from (
             select visitor_id, reaches_secret from page_withdrawals
             where tracker_id = $1::uuid and withdrawn_at >= $2::timestamptz
             order by withdrawn_at desc, id desc limit $3::integer
           ) as latest`,
    values: [trackerId, from.toISOString(), COUNTED_WITHDRAWALS_MAX],
  })
  return rows[0].count
}
