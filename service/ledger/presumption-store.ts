import {
  arrayLiteral,
  arraysOf,
  type BatchColumn,
  ownTrackers,
  unnestOf,
} from '../db/row-arrays.ts'
import type { LedgerEntry } from './ledger-entry.ts'

/** What an entry was made upon without asking: one person's key, or one tracker. */
interface Presumption {
  /** The place of the entry among those of the statement, from 1 on. */
  number: number
  trackerId: string
  key: string
}

const CONSENTING_COLUMNS: BatchColumn<Presumption>[] = [
  { name: 'number', type: 'integer', text: ({ number }) => String(number) },
  { name: 'tracker_id', type: 'uuid', text: ({ trackerId }) => trackerId },
  { name: 'visitor_id', type: 'text', text: ({ key }) => key },
]

const UNERASED_COLUMNS: BatchColumn<Presumption>[] = [
  { name: 'number', type: 'integer', text: ({ number }) => String(number) },
  { name: 'tracker_id', type: 'uuid', text: ({ trackerId }) => trackerId },
  { name: 'keyed_digest', type: 'bytea', text: ({ key }) => `\\x${key}` },
]

const TRACKER_COLUMNS: BatchColumn<string>[] = [
  { name: 'tracker_id', type: 'uuid', text: trackerId => trackerId },
]

/** How many parameters `misjudgedEntries` takes. */
export const PRESUMPTION_PARAMETERS =
  CONSENTING_COLUMNS.length + UNERASED_COLUMNS.length + TRACKER_COLUMNS.length

/**
 * The numbers of the entries that were made upon a wrong presumption, as a query. To ask before
 * would cost every commit a round trip, mostly in vain. And only the statement's own snapshot
 * can answer: an erasure makes itself known and then waits for the statements that began before,
 * so no identity slips in between (docs/decisions/0011). A tracker that has erased no one, as most
 * have, is asked for as a whole and needs no keyed digests. `trackerIds` is the parameter with the
 * tracker of each entry. `limit` keeps each look-up one of its own. `ownTrackers` is a parameter
 * with the trackers of the entries, each once, for a Citus cluster: all of one shard there.
 */
export function misjudgedEntries(
  trackerIds: string,
  firstParameter: number,
  ownTrackers: string | null = null,
): string {
  const isOwn = ownTrackers === null ? '' : `and tracker_id = any(${ownTrackers}::uuid[])`
  const unerasedParameter = firstParameter + CONSENTING_COLUMNS.length
  const trackerParameter = unerasedParameter + UNERASED_COLUMNS.length
  return `
    select presumed.number
    from ${unnestOf(CONSENTING_COLUMNS, { alias: 'presumed', firstParameter })}
    cross join lateral (
      select tracker_id from consent_withdrawals
      where tracker_id = presumed.tracker_id and visitor_id = presumed.visitor_id ${isOwn}
      limit 1
    ) withdrawal
    union
    select presumed.number
    from ${unnestOf(UNERASED_COLUMNS, { alias: 'presumed', firstParameter: unerasedParameter })}
    cross join lateral (
      select tracker_id from erased_identifiers
      where tracker_id = presumed.tracker_id and keyed_digest = presumed.keyed_digest ${isOwn}
      limit 1
    ) erased
    union
    select entry.number
    from ${unnestOf(TRACKER_COLUMNS, { alias: 'presumed', firstParameter: trackerParameter })}
    join unnest(${trackerIds}::uuid[]) with ordinality as entry(tracker_id, number)
      using (tracker_id)
    cross join lateral (
      select tracker_id from erased_identifiers
      where tracker_id = presumed.tracker_id ${isOwn}
      limit 1
    ) erased`
}

/** The values for `misjudgedEntries`. */
export function presumptionValues(entries: readonly LedgerEntry[]): string[] {
  const consenting: Presumption[] = []
  const unerased: Presumption[] = []
  const trackers = new Set<string>()
  for (const [index, entry] of entries.entries()) {
    const { trackerId, presumedConsenting, presumedUnerased = [] } = entry
    const of = { number: index + 1, trackerId }
    for (const key of presumedConsenting) consenting.push({ ...of, key })
    if (presumedUnerased === 'everybody') trackers.add(trackerId)
    else for (const key of presumedUnerased) unerased.push({ ...of, key })
  }
  return [
    ...arraysOf(CONSENTING_COLUMNS, consenting),
    ...arraysOf(UNERASED_COLUMNS, unerased),
    ...arraysOf(TRACKER_COLUMNS, [...trackers]),
  ]
}

/** `misjudgedEntries` as a statement of its own, for a Citus cluster, with its parameters. */
export function misjudgedStatement(entries: readonly LedgerEntry[]): {
  text: string
  values: string[]
} {
  const trackers = entries.map(({ trackerId }) => trackerId)
  const own = `$${PRESUMPTION_PARAMETERS + 2}`
  return {
    text: misjudgedEntries('$1', 2, own),
    values: [arrayLiteral(trackers), ...presumptionValues(entries), ownTrackers(entries)],
  }
}
