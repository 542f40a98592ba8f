import { isMember, parseStored, type Stored } from '@signalbox/contract/closed-set.ts'
import { DESTINATION_STATUSES, type DestinationStatus } from '@signalbox/contract/destinations.ts'
import { BACKOFF_CAUSES, type BackoffCause } from '@signalbox/contract/reasons.ts'
import { type Selectable, sql } from 'kysely'
import type { Database, Transaction } from '../../runtime/db/database.ts'
import type { Tables } from '../../runtime/db/tables.ts'
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

interface UsedDestination {
  trackerId: string
  destinationId: string
  /** The credential that was used. The answer proves nothing about a newer one. */
  sealedCredential: Buffer
  at: Date
}

interface DestinationPause extends UsedDestination {
  reason: string | null
  nextProbeAt: Date
}

/**
 * Pauses a destination that the platform rejects: its deliveries wait, and probes follow. False
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

/** A probe failed: the destination stays inactive until a later one. */
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

/** Activates the destination. False when it was active already, or has another credential. */
export async function resumeDestination(
  { query }: Database,
  probed: UsedDestination,
): Promise<boolean> {
  const changed = await query
    .updateTable('destinations')
    .set({
      status: 'active',
      status_reason: null,
      next_probe_at: null,
      failed_probes: 0,
      updated_at: probed.at,
    })
    .where('tracker_id', '=', probed.trackerId)
    .where('id', '=', probed.destinationId)
    .where('status', '=', 'inactive')
    .where('sealed_credential', '=', probed.sealedCredential)
    .returning('id')
    .executeTakeFirst()
  return changed !== undefined
}

interface DestinationKey {
  trackerId: string
  destinationId: string
}

/** Records that a worker sends nothing until a time. An outage keeps its beginning. */
export async function recordBackoff(
  { query }: Database,
  { trackerId, destinationId }: DestinationKey,
  { cause, since, until }: Backoff,
): Promise<void> {
  await query
    .updateTable('destinations')
    .set({
      backoff_cause: cause,
      backoff_since: sql`case when backoff_cause = 'unreachable' and ${cause}::text = 'unreachable'
        then backoff_since else ${since}::timestamptz end`,
      backoff_until: until,
    })
    .where('tracker_id', '=', trackerId)
    .where('id', '=', destinationId)
    .execute()
}

/** A request reached the platform again. A pause that the platform asked for goes on. */
export async function clearOutage(
  { query }: Database,
  { trackerId, destinationId }: DestinationKey,
): Promise<void> {
  await query
    .updateTable('destinations')
    .set({ backoff_cause: null, backoff_since: null, backoff_until: null })
    .where('tracker_id', '=', trackerId)
    .where('id', '=', destinationId)
    .where('backoff_cause', '=', 'unreachable')
    .execute()
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
