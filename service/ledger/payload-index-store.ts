import type { Database } from '../db/database.ts'
import { isOfCluster } from '../db/distribute-tables.ts'

/**
 * Merges what was stored lately into the index of payloads, on every day. Resolves when all is
 * merged; storing payloads does not wait for it.
 */
export async function mergePayloadIndex(database: Database): Promise<void> {
  const { pool } = database
  if (await isOfCluster(database)) {
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

/** On the coordinator the indexes of the shards are not there, and nothing would be merged. */
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
