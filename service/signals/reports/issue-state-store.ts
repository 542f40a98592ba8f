import type { Database, Transaction } from '../../runtime/db/database.ts'

/** What a person decided about an issue. */
export type DecidedState = 'muted' | 'resolved'

export interface IssueState {
  key: string
  state: DecidedState
  changedAt: Date
}

/** Decisions of a tracker. There are fewer causes in a month. */
const STATES_MAX = 5_000

/** The decisions about the issues of a tracker. */
export async function listIssueStates(
  { pool }: Pick<Database, 'pool'>,
  trackerId: string,
): Promise<IssueState[]> {
  const { rows } = await pool.query({
    name: 'list-issue-states',
    text: `select issue_key, state, changed_at from issue_states
           where tracker_id = $1::uuid order by issue_key limit ${STATES_MAX}`,
    values: [trackerId],
  })
  return rows.map(row => ({
    key: row.issue_key,
    state: row.state,
    changedAt: row.changed_at,
  }))
}

interface StateChange {
  trackerId: string
  key: string
  at: Date
}

/** Keeps a decision; the last one of several at the same time stays. */
export async function setIssueState(
  { query }: Transaction,
  { trackerId, key, at }: StateChange,
  state: DecidedState,
): Promise<void> {
  await query
    .insertInto('issue_states')
    .values({ tracker_id: trackerId, issue_key: key, state, changed_at: at })
    .onConflict(conflict =>
      conflict.columns(['tracker_id', 'issue_key']).doUpdateSet(({ ref }) => ({
        state: ref('excluded.state'),
        changed_at: ref('excluded.changed_at'),
      })),
    )
    .execute()
}

/** An issue without a decision is open. */
export async function deleteIssueState(
  { query }: Transaction,
  { trackerId, key }: Omit<StateChange, 'at'>,
): Promise<void> {
  await query
    .deleteFrom('issue_states')
    .where('tracker_id', '=', trackerId)
    .where('issue_key', '=', key)
    .execute()
}
