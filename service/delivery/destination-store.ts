import { sql } from 'kysely'
import type { Database } from '../db/database.ts'

/** What acceptance needs to know of a tracker's destinations. */
export interface DestinationRoute {
  id: string
  /** While test mode is on, events for this destination are test events. */
  isTest: boolean
}

/** All destinations of a tracker; an inactive one collects deliveries until it works again. */
export async function findDestinationRoutes(
  { pool }: Database,
  trackerId: string,
  now: Date,
): Promise<DestinationRoute[]> {
  const { rows } = await pool.query({
    name: 'find-destination-routes',
    text: `select id, coalesce(test_mode_until > $2, false) as is_test
           from destinations where tracker_id = $1 order by created_at, id`,
    values: [trackerId, now],
  })
  return rows.map(row => ({ id: row.id, isTest: row.is_test }))
}

export interface Destination {
  trackerId: string
  id: string
  datasetId: string
  sealedCredential: Buffer
  status: 'active' | 'inactive'
  statusReason: string | null
  testEventCode: string | null
  failedProbes: number
}

export async function findDestination(
  { query }: Database,
  trackerId: string,
  id: string,
): Promise<Destination | null> {
  const row = await query
    .selectFrom('destinations')
    .selectAll()
    .where('tracker_id', '=', trackerId)
    .where('id', '=', id)
    .executeTakeFirst()
  if (!row) return null
  const config = row.config as unknown as { dataset_id: string }
  return {
    trackerId,
    id,
    datasetId: config.dataset_id,
    sealedCredential: row.sealed_credential,
    status: row.status as Destination['status'],
    statusReason: row.status_reason,
    testEventCode: row.test_event_code,
    failedProbes: row.failed_probes,
  }
}

export interface NewDestination {
  trackerId: string
  id: string
  datasetId: string
  sealedCredential: Buffer
  createdAt: Date
}

/** Makes an active Meta destination. */
export async function insertDestination(
  { query }: Database,
  destination: NewDestination,
): Promise<void> {
  await query
    .insertInto('destinations')
    .values({
      tracker_id: destination.trackerId,
      id: destination.id,
      type: 'meta',
      credential_source: 'oauth_connection',
      config: JSON.stringify({ dataset_id: destination.datasetId }),
      sealed_credential: destination.sealedCredential,
      status: 'active',
      created_at: destination.createdAt,
      updated_at: destination.createdAt,
    })
    .execute()
}

export interface LanePause {
  trackerId: string
  destinationId: string
  reason: string | null
  at: Date
  nextProbeAt: Date
}

/**
 * The platform refuses the destination itself: its lane waits, and is probed now and then. False
 * when it was inactive already.
 */
export async function pauseDestination({ query }: Database, pause: LanePause): Promise<boolean> {
  const { numUpdatedRows } = await query
    .updateTable('destinations')
    .set({
      status: 'inactive',
      status_reason: pause.reason,
      next_probe_at: pause.nextProbeAt,
      failed_probes: 0,
      updated_at: pause.at,
    })
    .where('tracker_id', '=', pause.trackerId)
    .where('id', '=', pause.destinationId)
    .where('status', '=', 'active')
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/** A probe did not get through: the destination stays inactive until a later one. */
export async function postponeProbe({ query }: Database, pause: LanePause): Promise<void> {
  await query
    .updateTable('destinations')
    .set({
      status_reason: pause.reason,
      next_probe_at: pause.nextProbeAt,
      failed_probes: sql`failed_probes + 1`,
      updated_at: pause.at,
    })
    .where('tracker_id', '=', pause.trackerId)
    .where('id', '=', pause.destinationId)
    .where('status', '=', 'inactive')
    .execute()
}

/** The destination works again. False when it was active already. */
export async function resumeDestination(
  { query }: Database,
  lane: { trackerId: string; destinationId: string; at: Date },
): Promise<boolean> {
  const { numUpdatedRows } = await query
    .updateTable('destinations')
    .set({
      status: 'active',
      status_reason: null,
      next_probe_at: null,
      failed_probes: 0,
      updated_at: lane.at,
    })
    .where('tracker_id', '=', lane.trackerId)
    .where('id', '=', lane.destinationId)
    .where('status', '=', 'inactive')
    .executeTakeFirst()
  return numUpdatedRows > 0n
}
