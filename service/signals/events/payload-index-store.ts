import { type Database, isCitusCluster } from '../../runtime/db/database.ts'
import {
  type BatchColumn,
  toArrayParameters,
  unnestColumns,
} from '../../runtime/db/sql-fragments.ts'
import { payloadCreatedAt } from './event-columns.ts'
import { listFreeTextDigests } from './free-text.ts'
import { type ErasablePayload, PAYLOAD_REF_COLUMNS } from './payload-search-store.ts'
import { indexKey, listIdentifierDigests } from './person-identifiers.ts'

/** 1.5 MB of the 4 MB at which PostgreSQL merges inside a statement that stores payloads. */
const MERGE_EVENTS = 20_000

/**
 * Merges the pending list of the payload index every 20,000 events, concurrently with commits.
 * PostgreSQL first appends new rows to a pending list and merges it when it is full, inside the
 * statement that fills it. That raised the p99 of a commit of 500 events from 211 ms to 278 ms;
 * with this class it is 196 ms (docs/decisions/0011).
 */
export class PayloadIndexMerger {
  readonly #database: Database
  #unmerged = 0
  #isMerging = false

  constructor(database: Database) {
    this.#database = database
  }

  recordStored(count: number): void {
    this.#unmerged += count
    if (this.#unmerged < MERGE_EVENTS || this.#isMerging) return
    this.#unmerged = 0
    this.#isMerging = true
    mergePayloadIndex(this.#database)
      // PostgreSQL merges by itself, only at a worse time.
      .catch(() => {})
      .finally(() => {
        this.#isMerging = false
      })
  }
}

/** Merges the pending lists of the payload index in all daily partitions. Does not block writes. */
export async function mergePayloadIndex(database: Database): Promise<void> {
  const { pool } = database
  if (await isCitusCluster(database)) {
    const { rows } = await pool.query(MERGE_SHARDS)
    const [failed] = rows
    if (failed) throw new Error(`shard ${failed.shardid} of ${failed.name}: ${failed.result}`)
    return
  }
  await pool.query(
    `select gin_clean_pending_list(inhrelid) from pg_inherits
     where inhparent = 'event_payloads_by_identifier'::regclass`,
  )
}

/** The coordinator has no shards, so the function runs on each of them. */
const MERGE_SHARDS = `
  select day.inhrelid::regclass as name, run.shardid, run.result
  from pg_inherits day
  cross join lateral run_command_on_shards(day.inhrelid::regclass, $command$
    select count(gin_clean_pending_list(index.oid))
    from pg_index join pg_class index on index.oid = pg_index.indexrelid
    join pg_am method on method.oid = index.relam
    where pg_index.indrelid = '%s'::regclass and method.amname = 'gin'
  $command$) run
  where day.inhparent = 'signalbox_store.event_payloads'::regclass and not run.success`

/**
 * Writes the index keys of payloads that a process of an earlier version stored without them. Every
 * erasure that reads such payloads calls this: otherwise each later erasure of the tracker would
 * read them again, and with too many of them none would finish. Skips rows that another erasure has
 * locked.
 */
export async function backfillIndexKeys(
  { pool }: Database,
  trackerId: string,
  payloads: readonly ErasablePayload[],
): Promise<void> {
  if (payloads.length === 0) return
  await pool.query(
    `with found as materialized (
       select payload.tracker_id, payload.created_at, payload.event_id, payload.space,
         payload.received_on, target.keys
       from ${unnestColumns(INDEX_KEY_COLUMNS, { alias: 'target', firstParameter: 2 })}
       cross join lateral (
         select tracker_id, created_at, event_id, space, received_on from event_payloads
         where tracker_id = $1::uuid
           and created_at = ${payloadCreatedAt('target')}
           and event_id = target.event_id and space = target.space
           and received_on = target.received_on
         limit 1 for update skip locked
       ) payload
     )
     update event_payloads payload set identifier_keys = found.keys::integer[] from found
     where payload.tracker_id = found.tracker_id and payload.created_at = found.created_at
       and payload.event_id = found.event_id and payload.space = found.space
       and payload.received_on = found.received_on`,
    [
      trackerId,
      ...toArrayParameters(
        INDEX_KEY_COLUMNS,
        payloads.map(payload => ({ ...payload, keys: formatIndexKeys(trackerId, payload) })),
      ),
    ],
  )
}

const INDEX_KEY_COLUMNS: readonly BatchColumn<ErasablePayload & { keys: string }>[] = [
  ...PAYLOAD_REF_COLUMNS,
  { name: 'keys', type: 'text', text: ({ keys }) => keys },
]

function formatIndexKeys(trackerId: string, payload: ErasablePayload): string {
  const digests = [...listIdentifierDigests(payload), ...listFreeTextDigests(payload)]
  const keys = digests.map(digest => indexKey(trackerId, digest))
  return `{${keys.join(',')}}`
}
