import { isMember, parseStored, type Stored } from '@signalbox/contract/closed-set.ts'
import { DESTINATION_STATUSES, type DestinationStatus } from '@signalbox/contract/destinations.ts'
import { BACKOFF_CAUSES, type BackoffCause } from '@signalbox/contract/reasons.ts'
import type { DestinationRouting, RoutingFilter } from '@signalbox/contract/routing.ts'
import type { Selectable } from 'kysely'
import type { Database, Transaction } from '../../runtime/db/database.ts'
import type { Tables } from '../../runtime/db/tables.ts'
import { isObject } from '../../runtime/util/is-object.ts'
import type { TargetConfig } from '../platforms/platform.ts'

export interface Destination {
  trackerId: string
  id: string
  /** The name of its platform, which alone reads `config`. */
  platform: string
  config: TargetConfig
  sealedCredential: Buffer
  status: Stored<DestinationStatus>
  statusReason: string | null
  /** Marks test events at the platform; kept while test mode is off. */
  testCode: string | null
  /** Test mode is on until then. */
  testModeUntil: Date | null
  failedProbes: number
  /** When an inactive destination is tried again. */
  nextProbeAt: Date | null
  platformAdAccountId: number | null
  createdAt: Date
  updatedAt: Date
  /** Why the workers send nothing for a while; null when they have no reason. */
  backoff: Backoff | null
  /** Which events it gets, and under which names. */
  routing: DestinationRouting
  /** What people call it; null: its platform and target name it. */
  name: string | null
  /** When a person paused it: only a person resumes it. Null when no person did. */
  pausedAt: Date | null
  /** When a person disconnected it, for good. Its past stays readable. */
  disconnectedAt: Date | null
}

/** A worker's circuit for a destination, as the last worker that sent something saw it. */
export interface Backoff {
  cause: BackoffCause
  /** The first of the consecutive requests that opened the circuit, or the throttling answer. */
  since: Date
  /** When the next request may be made. With an open circuit it is one request with few events. */
  until: Date
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

/** An event is planned for each of its tracker's destinations, so there are few. */
export const DESTINATIONS_MAX = 20

/** The connected destinations of a tracker, oldest first; of an old store more than the limit. */
export async function listDestinations(
  { query }: Transaction,
  trackerId: string,
): Promise<Destination[]> {
  const rows = await query
    .selectFrom('destinations')
    .selectAll()
    .where('tracker_id', '=', trackerId)
    .where('disconnected_at', 'is', null)
    .orderBy('created_at')
    .orderBy('id')
    .limit(DESTINATIONS_MAX * 5)
    .execute()
  return rows.map(destinationOf)
}

export function destinationOf(row: Selectable<Tables['destinations']>): Destination {
  return {
    trackerId: row.tracker_id,
    id: row.id,
    platform: row.type,
    config: row.config as unknown as TargetConfig,
    sealedCredential: row.sealed_credential,
    status: parseStored(DESTINATION_STATUSES, row.status),
    statusReason: row.status_reason,
    testCode: row.test_event_code,
    testModeUntil: row.test_mode_until,
    failedProbes: row.failed_probes,
    nextProbeAt: row.next_probe_at,
    platformAdAccountId: row.platform_ad_account_id,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    backoff: backoffOf(row),
    routing: parseStoredRouting(row.routing),
    name: row.name,
    pausedAt: row.paused_at,
    disconnectedAt: row.disconnected_at,
  }
}

type BackoffColumns = Pick<
  Selectable<Tables['destinations']>,
  'backoff_cause' | 'backoff_since' | 'backoff_until'
>

/** Null also for a cause of another version, which says nothing to this one. */
export function backoffOf(row: BackoffColumns): Backoff | null {
  const { backoff_cause: cause, backoff_since: since, backoff_until: until } = row
  if (cause === null || since === null || until === null) return null
  return isMember(BACKOFF_CAUSES, cause) ? { cause, since, until } : null
}

interface NewDestination {
  trackerId: string
  id: string
  platform: string
  config: TargetConfig
  sealedCredential: Buffer
  platformAdAccountId?: number | null
  createdAt: Date
  /** Default: every event, under its own name. */
  routing?: DestinationRouting
}

/** Makes an active destination. */
export async function insertDestination(
  { query }: Transaction,
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
      platform_ad_account_id: destination.platformAdAccountId ?? null,
      status: 'active',
      created_at: destination.createdAt,
      updated_at: destination.createdAt,
      routing: JSON.stringify(destination.routing ?? {}),
    })
    .execute()
}

interface DestinationBinding {
  trackerId: string
  destinationId: string
  adAccountId: number
}

/** Links a destination to its ad account, unless it has one. */
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

export interface DestinationKey {
  trackerId: string
  destinationId: string
}

export type TestMode = Pick<Destination, 'testModeUntil' | 'testCode'>

/**
 * Reads and locks test mode until the transaction ends, so that of two concurrent requests the
 * later one wins completely. Null when the tracker has no such destination.
 */
export async function lockTestMode(
  { query }: Transaction,
  { trackerId, destinationId }: DestinationKey,
): Promise<(TestMode & { platform: string }) | null> {
  const row = await query
    .selectFrom('destinations')
    .select(['type', 'test_mode_until', 'test_event_code'])
    .where('tracker_id', '=', trackerId)
    .where('id', '=', destinationId)
    .where('disconnected_at', 'is', null)
    .forNoKeyUpdate()
    .executeTakeFirst()
  if (!row) return null
  const { type, test_mode_until, test_event_code } = row
  return { platform: type, testModeUntil: test_mode_until, testCode: test_event_code }
}

export async function switchTestMode(
  { query }: Transaction,
  { trackerId, destinationId }: DestinationKey,
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

/** Reads and locks a connected destination until the transaction ends. Null without such a one. */
export async function lockDestination(
  { query }: Transaction,
  { trackerId, destinationId }: DestinationKey,
): Promise<Destination | null> {
  const row = await query
    .selectFrom('destinations')
    .selectAll()
    .where('tracker_id', '=', trackerId)
    .where('id', '=', destinationId)
    .where('disconnected_at', 'is', null)
    .forNoKeyUpdate()
    .executeTakeFirst()
  return row ? destinationOf(row) : null
}

export async function updateRouting(
  { query }: Transaction,
  { trackerId, destinationId }: DestinationKey,
  { routing, at }: { routing: DestinationRouting; at: Date },
): Promise<Destination> {
  const row = await query
    .updateTable('destinations')
    .set({ routing: JSON.stringify(routing), updated_at: at })
    .where('tracker_id', '=', trackerId)
    .where('id', '=', destinationId)
    .returningAll()
    .executeTakeFirstOrThrow()
  return destinationOf(row)
}

/** The destinations of a tracker that are of these platforms. */
export async function listDestinationIds(
  { pool }: Pick<Database, 'pool'>,
  { trackerId }: { trackerId: string },
  platforms: readonly string[],
): Promise<string[]> {
  const { rows } = await pool.query(
    'select id from destinations where tracker_id = $1::uuid and type = any($2::text[])',
    [trackerId, platforms],
  )
  return rows.map(({ id }) => id)
}

/** Every event, under its own name. */
export const NO_ROUTING: DestinationRouting = Object.freeze({})

/** The members that this version knows; what does not fit is left out. */
export function parseStoredRouting(stored: unknown): DestinationRouting {
  if (!isObject(stored)) return NO_ROUTING
  const { event_names, filter } = stored
  return {
    ...(isObject(event_names) && { event_names: event_names as Record<string, string> }),
    ...(isObject(filter) && { filter: filter as RoutingFilter }),
  }
}

/** Counts changes of destinations, for all threads of a process that cache them. */
export function allocateChangeCounter(): SharedArrayBuffer {
  return new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT)
}
