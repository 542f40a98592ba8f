import { toBinaryParameters, unnestBinary } from '../../runtime/db/binary-arrays.ts'
import {
  arrayLiteral,
  type BatchColumn,
  toArrayParameters,
  trackerIdArray,
  unnestColumns,
} from '../../runtime/db/sql-fragments.ts'
import type { EventRecord } from './event-record.ts'

/** A key whose person events assume to be not blocked. */
interface AssumedKey {
  trackerId: string
  key: string
  /** Those of the events. */
  numbers: number[]
}

// One list per row: `unnest` flattens an array of arrays, so the list is sent as text.
const NUMBERS: BatchColumn<AssumedKey> = {
  name: 'numbers',
  type: 'text',
  text: ({ numbers }) => `{${numbers.join(',')}}`,
}

const WITHDRAWAL_CHECK_COLUMNS: BatchColumn<AssumedKey>[] = [
  NUMBERS,
  { name: 'tracker_id', type: 'uuid', text: ({ trackerId }) => trackerId },
  { name: 'visitor_id', type: 'text', text: ({ key }) => key },
]

const ERASURE_CHECK_COLUMNS: BatchColumn<AssumedKey>[] = [
  NUMBERS,
  { name: 'tracker_id', type: 'uuid', text: ({ trackerId }) => trackerId },
  { name: 'keyed_digest', type: 'bytea', text: ({ key }) => `\\x${key}` },
]

const TRACKER_CHECK_COLUMNS: BatchColumn<string>[] = [
  { name: 'tracker_id', type: 'uuid', text: trackerId => trackerId },
]

/** The number of parameters of `buildConflictQuery`. */
export const CONFLICT_PARAMETER_COUNT =
  WITHDRAWAL_CHECK_COLUMNS.length + ERASURE_CHECK_COLUMNS.length + 2 * TRACKER_CHECK_COLUMNS.length

interface ConflictParameters {
  /** The parameter with the tracker of each event. */
  trackerIds: string
  firstParameter: number
  /** The parameter with the distinct trackers, on a Citus cluster, where they share one shard. */
  ownTrackers: string | null
  unnest: typeof unnestColumns
}

/**
 * An optimistic check, as SQL: the numbers of the events whose assumptions are wrong. A lookup
 * before the commit would cost every commit a round trip, almost always for nothing. Only the
 * snapshot of the statement can give the answer: an erasure publishes itself and then waits for the
 * statements that began earlier, so no identity is stored in between (docs/decisions/0011). A
 * tracker without withdrawals or without erasures, as most are, is checked as a whole, once for all
 * its events, and needs no keys. Any other key is looked up once, for all events that have it.
 * `limit` keeps each lookup separate.
 */
function buildConflictQuery({
  trackerIds,
  firstParameter,
  ownTrackers,
  unnest,
}: ConflictParameters): string {
  const isOwn = ownTrackers === null ? '' : `and tracker_id = any(${ownTrackers}::uuid[])`
  const erasureParameter = firstParameter + WITHDRAWAL_CHECK_COLUMNS.length
  const withdrawingParameter = erasureParameter + ERASURE_CHECK_COLUMNS.length
  const erasingParameter = withdrawingParameter + TRACKER_CHECK_COLUMNS.length
  const ofTracker = `tracker_id = assumed.tracker_id ${isOwn}`
  const lookup = (table: string, condition = '') =>
    `(select tracker_id from ${table} where ${ofTracker} ${condition} limit 1)`
  const ofKeys = (columns: BatchColumn<AssumedKey>[], parameter: number, blocked: string) => `
    select unnest(assumed.numbers::integer[]) as number
    from ${unnest(columns, { alias: 'assumed', firstParameter: parameter })}
    cross join lateral (${blocked}) blocked`
  const ofTrackers = (parameter: number, blocked: string) => `
    select event.number::integer
    from ${unnest(TRACKER_CHECK_COLUMNS, { alias: 'assumed', firstParameter: parameter })}
    join unnest(${trackerIds}::uuid[]) with ordinality as event(tracker_id, number)
      using (tracker_id)
    cross join lateral (${blocked}) blocked`
  return [
    ofKeys(
      WITHDRAWAL_CHECK_COLUMNS,
      firstParameter,
      `${lookup('consent_withdrawals', 'and visitor_id = assumed.visitor_id')}
      union all ${lookup('page_withdrawal_keys', 'and key = assumed.visitor_id')}`,
    ),
    ofKeys(
      ERASURE_CHECK_COLUMNS,
      erasureParameter,
      lookup('erased_identifiers', 'and keyed_digest = assumed.keyed_digest'),
    ),
    ofTrackers(
      withdrawingParameter,
      `${lookup('consent_withdrawals')} union all ${lookup('page_withdrawal_keys')}`,
    ),
    ofTrackers(erasingParameter, lookup('erased_identifiers')),
  ].join(' union ')
}

/** The values for `buildConflictQuery`. */
function buildConflictValues<Value>(
  events: readonly EventRecord[],
  toParameters: <Row>(columns: readonly BatchColumn<Row>[], rows: readonly Row[]) => Value[],
): Value[] {
  const withdrawals = new Assumptions()
  const erasures = new Assumptions()
  for (const [index, event] of events.entries()) {
    withdrawals.add(event.trackerId, event.assumedNotWithdrawn, index + 1)
    erasures.add(event.trackerId, event.assumedNotErased ?? [], index + 1)
  }
  return [
    ...toParameters(WITHDRAWAL_CHECK_COLUMNS, withdrawals.keys),
    ...toParameters(ERASURE_CHECK_COLUMNS, erasures.keys),
    ...toParameters(TRACKER_CHECK_COLUMNS, withdrawals.trackerIds),
    ...toParameters(TRACKER_CHECK_COLUMNS, erasures.trackerIds),
  ]
}

/** What a group of events assumes, each assumption once. */
class Assumptions {
  readonly #trackerIds = new Set<string>()
  readonly #keys = new Map<string, AssumedKey>()

  get trackerIds(): string[] {
    return [...this.#trackerIds]
  }

  get keys(): AssumedKey[] {
    return [...this.#keys.values()]
  }

  add(trackerId: string, assumed: 'all' | readonly string[], number: number): void {
    if (assumed === 'all') {
      this.#trackerIds.add(trackerId)
      return
    }
    for (const key of assumed) {
      const name = `${trackerId} ${key}`
      const known = this.#keys.get(name)
      if (known) known.numbers.push(number)
      else this.#keys.set(name, { trackerId, key, numbers: [number] })
    }
  }
}

/** The check inside the acceptance statement. */
export const CONFLICT_CHECK = {
  query: (trackerIds: string, firstParameter: number) =>
    buildConflictQuery({ trackerIds, firstParameter, ownTrackers: null, unnest: unnestBinary }),
  toValues: (events: readonly EventRecord[]) => buildConflictValues(events, toBinaryParameters),
}

/** The check as a separate statement with its parameters, for a Citus cluster. */
export function buildConflictStatement(events: readonly EventRecord[]): {
  text: string
  values: string[]
} {
  const trackers = events.map(({ trackerId }) => trackerId)
  const ownTrackers = `$${CONFLICT_PARAMETER_COUNT + 2}`
  const conflicts = buildConflictValues(events, toArrayParameters)
  return {
    text: buildConflictQuery({
      trackerIds: '$1',
      firstParameter: 2,
      ownTrackers,
      unnest: unnestColumns,
    }),
    values: [arrayLiteral(trackers), ...conflicts, trackerIdArray(events)],
  }
}
