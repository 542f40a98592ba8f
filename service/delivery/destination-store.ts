import { type Selectable, sql } from 'kysely'
import type { Database, Transaction } from '../db/database.ts'
import type { Tables } from '../db/tables.ts'
import type { TargetConfig } from '../platforms/platform.ts'

/** What acceptance needs to know of a tracker's destinations. */
export interface DestinationRoute {
  id: string
  /** The name of its platform. */
  platform: string
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
    text: `select id, type, coalesce(test_mode_until > $2::timestamptz, false) as is_test
           from destinations where tracker_id = $1::uuid order by created_at, id`,
    values: [trackerId, now],
  })
  return rows.map(row => ({ id: row.id, platform: row.type, isTest: row.is_test }))
}

export interface Destination {
  trackerId: string
  id: string
  /** The name of its platform, which alone reads `config`. */
  platform: string
  config: TargetConfig
  sealedCredential: Buffer
  status: 'active' | 'inactive'
  statusReason: string | null
  /** Marks test events at the platform; kept while test mode is off. */
  testCode: string | null
  /** Test mode is on until then. */
  testModeUntil: Date | null
  failedProbes: number
  platformAdAccountId: number | null
  createdAt: Date
  updatedAt: Date
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
  return row ? destinationOf(row) : null
}

export function destinationOf(row: Selectable<Tables['destinations']>): Destination {
  return {
    trackerId: row.tracker_id,
    id: row.id,
    platform: row.type,
    config: row.config as unknown as TargetConfig,
    sealedCredential: row.sealed_credential,
    status: row.status as Destination['status'],
    statusReason: row.status_reason,
    testCode: row.test_event_code,
    testModeUntil: row.test_mode_until,
    failedProbes: row.failed_probes,
    platformAdAccountId: row.platform_ad_account_id,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  }
}

interface NewDestination {
  trackerId: string
  id: string
  platform: string
  config: TargetConfig
  sealedCredential: Buffer
  createdAt: Date
}

/** Makes an active destination. */
export async function insertDestination(
  { query }: Database,
  destination: NewDestination,
): Promise<void> {
  await query
    .insertInto('destinations')
    .values({
      tracker_id: destination.trackerId,
      id: destination.id,
      type: destination.platform,
      credential_source: 'oauth_connection',
      config: JSON.stringify(destination.config),
      sealed_credential: destination.sealedCredential,
      status: 'active',
      created_at: destination.createdAt,
      updated_at: destination.createdAt,
    })
    .execute()
}

interface DestinationBinding {
  trackerId: string
  destinationId: string
  adAccountId: number
}

/** Says which ad account a destination is for, unless that is known. */
export async function bindDestination(
  { query }: Database,
  { trackerId, destinationId, adAccountId }: DestinationBinding,
): Promise<void> {
  await query
    .updateTable('destinations')
    .set({ platform_ad_account_id: adAccountId })
    .where('tracker_id', '=', trackerId)
    .where('id', '=', destinationId)
    .where('platform_ad_account_id', 'is', null)
    .execute()
}

interface TriedDestination {
  trackerId: string
  destinationId: string
  /** What was tried. An answer to it says nothing about a credential that was set meanwhile. */
  sealedCredential: Buffer
  at: Date
}

interface DestinationPause extends TriedDestination {
  reason: string | null
  nextProbeAt: Date
}

/**
 * The platform refuses the destination itself: its lane waits, and is probed now and then. False
 * when it was inactive already, or has another credential by now.
 */
export async function pauseDestination(
  { query }: Database,
  pause: DestinationPause,
): Promise<boolean> {
  const changed = await query
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
    .where('sealed_credential', '=', pause.sealedCredential)
    .returning('id')
    .executeTakeFirst()
  return changed !== undefined
}

/** A probe did not get through: the destination stays inactive until a later one. */
export async function postponeProbe({ query }: Database, pause: DestinationPause): Promise<void> {
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
    .where('sealed_credential', '=', pause.sealedCredential)
    .execute()
}

/** The destination works again. False when it was active already, or has another credential. */
export async function resumeDestination(
  { query }: Database,
  lane: TriedDestination,
): Promise<boolean> {
  const changed = await query
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
    .where('sealed_credential', '=', lane.sealedCredential)
    .returning('id')
    .executeTakeFirst()
  return changed !== undefined
}

interface DestinationName {
  trackerId: string
  destinationId: string
}

export type TestMode = Pick<Destination, 'testModeUntil' | 'testCode'>

/**
 * How test mode is; until the transaction ends nobody else switches it, so that of two requests at
 * once the later one wins whole. Null: the tracker has no such destination.
 */
export async function lockTestMode(
  { query }: Transaction,
  { trackerId, destinationId }: DestinationName,
): Promise<(TestMode & { platform: string }) | null> {
  const row = await query
    .selectFrom('destinations')
    .select(['type', 'test_mode_until', 'test_event_code'])
    .where('tracker_id', '=', trackerId)
    .where('id', '=', destinationId)
    .forNoKeyUpdate()
    .executeTakeFirst()
  if (!row) return null
  const { type, test_mode_until, test_event_code } = row
  return { platform: type, testModeUntil: test_mode_until, testCode: test_event_code }
}

export async function switchTestMode(
  { query }: Transaction,
  { trackerId, destinationId }: DestinationName,
  { testModeUntil, testCode, at }: TestMode & { at: Date },
): Promise<Destination> {
  const row = await query
    .updateTable('destinations')
    .set({ test_mode_until: testModeUntil, test_event_code: testCode, updated_at: at })
    .where('tracker_id', '=', trackerId)
    .where('id', '=', destinationId)
    .returningAll()
    .executeTakeFirstOrThrow()
  return destinationOf(row)
}
