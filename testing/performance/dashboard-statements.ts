import type { Database } from '../../service/runtime/db/database.ts'
import { countWaitingByReason } from '../../service/signals/delivery/backlog-store.ts'
import {
  countIssuesByDay,
  findIssueEvents,
  listIssueCounts,
  sumValueAtStake,
} from '../../service/signals/delivery/issue-list-store.ts'
import { countMatchKeys, countSentOfDay } from '../../service/signals/delivery/sent-counts-store.ts'
import { hasEvents, readStageCounts } from '../../service/signals/events/stage-count-store.ts'
import {
  addImportCounts,
  findImport,
  listImports,
} from '../../service/signals/ingestion/import-store.ts'
import {
  countRefusalsByDay,
  countRefusalsByHour,
  findRefusalsOfEvent,
  hasRefusalCause,
  listRefusalCauses,
  sumRefusalValues,
} from '../../service/signals/refusals/refusal-list-store.ts'
import { addRefusals } from '../../service/signals/refusals/refusal-store.ts'
import { findThresholdsOfTracker } from '../../service/signals/reports/alert-threshold-store.ts'
import {
  countFlow,
  findCountedDays,
  findTrackersToCount,
  readCountedDays,
  readReceiptDays,
} from '../../service/signals/reports/event-flow-store.ts'
import { listIssueStates } from '../../service/signals/reports/issue-state-store.ts'
import { deleteOldRows } from '../../service/signals/retention/retention-store.ts'
import {
  LARGE_DESTINATION as DESTINATION,
  generatedEventTime,
  LARGE_STORE_DAY,
  LARGE_TRACKER as TRACKER,
} from './large-store.ts'

const FROM = new Date(`${LARGE_STORE_DAY}T00:00:00.000Z`)
const OF_DAY = { trackerId: TRACKER, from: FROM, limit: 100 }
const OF_DAYS = { trackerId: TRACKER, from: '2026-08-21', until: LARGE_STORE_DAY }
const REFUSAL = {
  hour: FROM,
  status: 422,
  field: 'event_time',
  rule: 'required' as const,
  requests: 1,
  errors: 1,
  firstAt: FROM,
  lastAt: FROM,
  lastRequestId: 'req_1',
  idDigests: ['f'.repeat(64)],
  sentence: 'The event_time field is required.',
  samples: [{ at: FROM, requestId: 'req_1', form: 'missing' }],
  values: new Map([['EUR', { millionths: 19_950_000n, requests: 1 }]]),
}

const REFUSAL_CAUSE = { status: 422, field: 'field_1', rule: 'required' }
const CHOSEN_REFUSALS = { trackerId: TRACKER, from: FROM, causes: [REFUSAL_CAUSE] }
const ISSUE = {
  destinationId: DESTINATION,
  class: 'permanent',
  code: 100,
  subcode: 1,
  reason: '',
}
const IMPORT = { trackerId: TRACKER, id: DESTINATION, createdAt: FROM }
const ISSUE_DAYS = { trackerId: TRACKER, from: LARGE_STORE_DAY }

/** The statements of the dashboard and of reports on counts, and those that keep the counts. */
export const DASHBOARD_STATEMENTS: Record<string, (database: Database) => Promise<unknown>> = {
  'add refusals': database => addRefusals(database, TRACKER, [REFUSAL]),
  'count sent events of a day': database =>
    countSentOfDay(database, {
      trackerId: TRACKER,
      destinationId: DESTINATION,
      day: LARGE_STORE_DAY,
    }),
  'count match keys': database =>
    countMatchKeys(database, {
      trackerId: TRACKER,
      destinationId: DESTINATION,
      from: LARGE_STORE_DAY,
      until: LARGE_STORE_DAY,
    }),
  'count the flow of a range': database =>
    countFlow(database, {
      trackerId: TRACKER,
      from: generatedEventTime(4_000),
      until: generatedEventTime(4_400),
    }),
  'read the days of receipt': database => readReceiptDays(database, OF_DAYS),
  'find trackers whose flow has changed': database =>
    findTrackersToCount(database, { ...OF_DAYS, trackerIds: [TRACKER] }),
  'find the days with a count of the flow': database => findCountedDays(database, OF_DAYS),
  'read the counts of the flow': database => readCountedDays(database, OF_DAYS),
  'list refusals': database => listRefusalCauses(database, OF_DAY),
  'count refusals by hour': database => countRefusalsByHour(database, OF_DAY),
  'find the refusals of an event': database =>
    findRefusalsOfEvent(database, { ...OF_DAY, idDigest: 'f'.repeat(64) }),
  'count refusals by day': database => countRefusalsByDay(database, CHOSEN_REFUSALS),
  'sum the values of refusals': database => sumRefusalValues(database, CHOSEN_REFUSALS),
  'look for a cause of refusals': database =>
    hasRefusalCause(database, { ...CHOSEN_REFUSALS, cause: REFUSAL_CAUSE }),
  'list what people decided about issues': database => listIssueStates(database, TRACKER),
  'count issues by day': database => countIssuesByDay(database, { ...ISSUE_DAYS, issues: [ISSUE] }),
  'find the events of an issue': database =>
    findIssueEvents(database, { ...ISSUE_DAYS, issue: ISSUE }),
  'sum the value at stake': database =>
    sumValueAtStake(database, { trackerId: TRACKER, issue: ISSUE }),
  'find the thresholds of a tracker': database => findThresholdsOfTracker(database, TRACKER),
  'list imports': database => listImports(database, { trackerId: TRACKER, limit: 50 }),
  'find an import': database => findImport(database, IMPORT),
  'count the rows of an import': database =>
    addImportCounts(database, IMPORT, {
      stored: 1,
      duplicates: 0,
      refused: 0,
      blank: 0,
      finishedAt: null,
    }),
  'list issues': database => listIssueCounts(database, { ...OF_DAY, from: LARGE_STORE_DAY }),
  'read stage counts': database => readStageCounts(database, OF_DAY),
  'see whether there are events': database => hasEvents(database, TRACKER),
  'count what waits by reason': database => countWaitingByReason(database, TRACKER),
  'delete old counts': database =>
    deleteOldRows(database, { table: 'refusals', column: 'hour', before: OLD }),
}

const OLD = new Date('2026-01-01T00:00:00.000Z')

/** A month of counts for every tracker, as they are after the first ten minutes of each hour. */
export async function generateCounts({ pool }: Database): Promise<void> {
  const hours = `generate_series($1::timestamptz - interval '30 days', $1::timestamptz, '1 hour')`
  await pool.query(
    `insert into refusals
     select trackers.id, hour, 422, 'field_' || number, 'required', 1, 1, hour, hour, 'req_1', '{}'
     from trackers, ${hours} hour, generate_series(1, 10) number`,
    [FROM],
  )
  await pool.query(
    `insert into imports (tracker_id, created_at, id, file_name, file_digest)
     select trackers.id, hour, gen_random_uuid(), 'orders.csv', repeat('a', 64)
     from trackers, ${hours} hour`,
    [FROM],
  )
  await pool.query(
    `insert into refusal_values
     select trackers.id, hour, 422, 'field_' || number, 'required', 'EUR', 19.95, 1
     from trackers, ${hours} hour, generate_series(1, 10) number`,
    [FROM],
  )
  await pool.query(
    `insert into stage_counts select trackers.id, hour, 'accepted', '', slot, 1
     from trackers, ${hours} hour, generate_series(0, 7) slot`,
    [FROM],
  )
  await pool.query(
    `insert into delivery_issues
     select tracker_id, id, ($1::timestamptz - make_interval(days => day))::date, 'permanent', 100,
       code, '', 0, 1, 1, $1::timestamptz, $1::timestamptz, '{}'
     from destinations, generate_series(0, 29) day, generate_series(1, 50) code`,
    [FROM],
  )
}
