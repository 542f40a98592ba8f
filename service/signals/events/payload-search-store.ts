import type { Database } from '../../runtime/db/database.ts'
import {
  type BatchColumn,
  toArrayParameters,
  unnestColumns,
} from '../../runtime/db/sql-fragments.ts'
import { decodeDigests } from './column-encoding.ts'
import { EVENT_REF_COLUMNS, type EventRef, payloadCreatedAt } from './event-columns.ts'
import { BOTH_SPACES } from './event-record.ts'
import {
  digestVisitorId,
  indexKey,
  legacyIndexKey,
  type PersonIdentifiers,
} from './person-identifiers.ts'

/** A payload that may be erased: its key and the person it identifies. */
export interface ErasablePayload extends PersonIdentifiers, EventRef {
  /** The partition, YYYY-MM-DD. */
  receivedOn: string
  /** An earlier version stored it without index keys: see payload-index-store.ts. */
  isUnindexed: boolean
}

export interface DigestSearch {
  trackerId: string
  digest: string
  /** The keyed digest of the same identifier, for events that name it in free text. */
  freeTextDigest?: string
  limit: number
}

/**
 * The first payloads that may have the digest, in order. The index holds 32 bits of a digest, so
 * the caller filters the result with `matchesPerson`.
 */
export async function findPayloadsByDigest(
  { pool }: Database,
  search: DigestSearch,
): Promise<ErasablePayload[]> {
  const { rows } = await pool.query(selectByDigest(FOUND_COLUMNS), digestValues(search))
  return rows.map(toErasablePayload)
}

/** Where a payload is. */
export type PayloadRef = EventRef & Pick<ErasablePayload, 'receivedOn'>

/**
 * Where the same payloads are, for a caller that reads them page by page: each search by digest
 * finds and sorts all of them, so a search for every page would take the square of their number.
 */
export async function findPayloadRefs(
  { pool }: Database,
  search: DigestSearch,
): Promise<PayloadRef[]> {
  const { rows } = await pool.query(selectByDigest(REF_COLUMNS), digestValues(search))
  return rows.map(toPayloadRef)
}

/** The payloads that are still there, in the same order. */
export async function readPayloads(
  { pool }: Database,
  trackerId: string,
  refs: readonly PayloadRef[],
): Promise<ErasablePayload[]> {
  const { rows } = await pool.query(
    `select ${FOUND_COLUMNS}
     from (
       select * from ${unnestColumns(PAYLOAD_REF_COLUMNS, { alias: 'ref', firstParameter: 2 })}
     ) target
     cross join lateral (
       select event_payloads.*, target.created_at as event_created_at from event_payloads
       where tracker_id = $1::uuid and created_at = ${payloadCreatedAt('target')}
         and event_id = target.event_id and space = target.space
         and received_on = target.received_on
       limit 1
     ) payload
     order by payload.received_on, payload.event_id, payload.space`,
    [trackerId, ...toArrayParameters(PAYLOAD_REF_COLUMNS, refs)],
  )
  return rows.map(toErasablePayload)
}

const selectByDigest = (columns: string) => `
  select ${columns}
  from ${selectPayloadsByIndexKeys({ trackerId: '$1', keys: '$2', legacyKeys: '$3' })}
  order by payload.received_on, payload.event_id, payload.space limit $4::integer`

function digestValues({ trackerId, digest, freeTextDigest, limit }: DigestSearch): unknown[] {
  const keys = [digest, freeTextDigest ?? digest].map(one => indexKey(trackerId, one))
  return [trackerId, keys, [legacyIndexKey(digest)], limit]
}

/**
 * Payloads of a visitor, unordered. A visitor with more than the limit is not one person. Earlier
 * versions stored visitor IDs with the spaces around them.
 */
export async function findPayloadsByVisitor(
  { pool }: Database,
  { trackerId, visitorId, limit }: { trackerId: string; visitorId: string; limit: number },
): Promise<ErasablePayload[]> {
  const { rows } = await pool.query(
    `select ${FOUND_COLUMNS}
     from ${selectPayloadsByIndexKeys({ trackerId: '$1', keys: '$3', legacyKeys: '$4' })}
     where $2::text in (payload.visitor_id, btrim(payload.visitor_id, E' \\t\\r\\n'))
     limit $5::integer`,
    [
      trackerId,
      visitorId,
      [indexKey(trackerId, digestVisitorId(visitorId))],
      [legacyIndexKey(digestVisitorId(visitorId))],
      limit,
    ],
  )
  return rows.map(toErasablePayload)
}

/**
 * SQL for the payloads of a tracker that have one of the index keys, as a table `payload`, with the
 * time of their event as `event_created_at`. `offset 0` keeps other conditions out of the scan.
 * Payloads up to the day of the upgrade may have a legacy key, or 0 when they are not indexed.
 * Callers do not name the statement: a plan that was prepared while today's partition was empty
 * reads all of it.
 */
export function selectPayloadsByIndexKeys({
  trackerId,
  keys,
  legacyKeys,
}: IndexKeyParameters): string {
  const found = (searched: string) => `
    select * from event_payloads
    where identifier_keys && ${searched} and tracker_id = ${trackerId}::uuid`
  return `(
    select payload.*, case when payload.space <> ${BOTH_SPACES} then payload.created_at
      else coalesce(legacy.created_at, payload.received_on::timestamp at time zone 'UTC')
      end as event_created_at
    from (
      ${found(`${keys}::integer[]`)}
      union all
      ${found(`(${legacyKeys}::integer[] || 0)`)}
        and received_on <= (select (until at time zone 'UTC')::date from legacy_events)
        and not identifier_keys && ${keys}::integer[]
    ) payload
    left join lateral (
      select created_at from event_keys
      where payload.space = ${BOTH_SPACES} and tracker_id = ${trackerId}::uuid and space = 0
        and id_digest = event_id_digest(payload.event_id)
      limit 1
    ) legacy on true
    offset 0
  ) payload`
}

/** Parameters, such as `$1`. The keys are arrays. */
export interface IndexKeyParameters {
  trackerId: string
  keys: string
  legacyKeys: string
}

const REF_COLUMNS = `payload.event_id, payload.space, payload.event_created_at,
  payload.received_on`
export const FOUND_COLUMNS = `${REF_COLUMNS}, payload.visitor_id, payload.user_data,
  0 = any(payload.identifier_keys) as is_unindexed`

// biome-ignore lint/suspicious/noExplicitAny: a driver row; every member is read and named here.
function toPayloadRef(row: any): PayloadRef {
  return {
    eventId: row.event_id,
    space: row.space,
    createdAt: row.event_created_at,
    receivedOn: row.received_on,
  }
}

// biome-ignore lint/suspicious/noExplicitAny: a driver row; every member is read and named here.
export function toErasablePayload(row: any): ErasablePayload {
  return {
    ...toPayloadRef(row),
    visitorId: row.visitor_id,
    ...decodeDigests(row.user_data),
    isUnindexed: row.is_unindexed,
  }
}

/** The key columns of a payload. */
export const PAYLOAD_REF_COLUMNS: readonly BatchColumn<PayloadRef>[] = [
  ...EVENT_REF_COLUMNS,
  { name: 'received_on', type: 'date', text: ({ receivedOn }) => receivedOn },
]
