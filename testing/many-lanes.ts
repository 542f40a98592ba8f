import { randomUUID } from 'node:crypto'
import type { Database } from '../service/db/database.ts'
import type { CredentialKeys } from '../service/delivery/sealed-credential.ts'
import { sealCredential } from '../service/delivery/sealed-credential.ts'
import { ledgerEntry, plannedDelivery, STORED_AT, storeEntries } from './stored-events.ts'

/** A tracker with one destination, as a worker sees it. */
export interface StoredLane {
  trackerId: string
  destinationId: string
  datasetId: string
}

const ROWS_A_STATEMENT = 1_000

/** Makes so many trackers with a destination each, in a few statements. */
export async function storeLanes(
  { pool }: Database,
  credentialKeys: CredentialKeys,
  count: number,
): Promise<StoredLane[]> {
  const lanes = Array.from({ length: count }, (_, index) => ({
    trackerId: randomUUID(),
    destinationId: randomUUID(),
    datasetId: String(100_000_000_000_000 + index),
  }))
  const trackerIds = lanes.map(({ trackerId }) => trackerId)
  await pool.query(
    `with workspace as (
       insert into workspaces (name, created_at) values ('Many', $2) returning id
     )
     insert into trackers (id, workspace_id, name, created_at)
     select tracker_id, workspace.id, 'one of many', $2
     from workspace, unnest($1::uuid[]) tracker_id`,
    [trackerIds, STORED_AT],
  )
  await pool.query(
    `insert into destinations (tracker_id, id, type, credential_source, config,
       sealed_credential, status, created_at, updated_at)
     select tracker_id, id, 'meta', 'oauth_connection',
       jsonb_build_object('dataset_id', dataset_id), credential, 'active', $5, $5
     from unnest($1::uuid[], $2::uuid[], $3::text[], $4::bytea[])
       as lane (tracker_id, id, dataset_id, credential)`,
    [
      trackerIds,
      lanes.map(({ destinationId }) => destinationId),
      lanes.map(({ datasetId }) => datasetId),
      lanes.map(({ destinationId }) => sealCredential(credentialKeys, destinationId, 'token')),
      STORED_AT,
    ],
  )
  return lanes
}

/** Lets so many events wait in each of the lanes. */
export async function storeWaiting(
  database: Database,
  lanes: readonly StoredLane[],
  count: number,
): Promise<void> {
  const waiting = lanes.flatMap(lane =>
    Array.from({ length: count }, (_, index) => ({ ...lane, id: index + 1 })),
  )
  for (let first = 0; first < waiting.length; first += ROWS_A_STATEMENT) {
    const rows = waiting.slice(first, first + ROWS_A_STATEMENT).map(({ id, ...lane }) => {
      const key = { trackerId: lane.trackerId, eventId: `event-${id}` }
      const { destinationId } = lane
      return { entry: ledgerEntry(key), plan: plannedDelivery({ ...key, id, destinationId }) }
    })
    const entries = rows.map(({ entry }) => entry)
    await storeEntries(
      database,
      entries,
      rows.map(({ plan }) => plan),
    )
  }
}
