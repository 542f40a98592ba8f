import { sql } from 'kysely'
import type pg from 'pg'
import { type Database, inTransaction, type Transaction } from '../../runtime/db/database.ts'
import { arrayLiteral } from '../../runtime/db/sql-fragments.ts'
import { listVisitorDigests } from './person-identifiers.ts'

/**
 * A withdrawal that a page sent: one for each visitor ID and platform, whatever the number of its
 * events.
 */
export interface PageWithdrawal {
  id: string
  visitorId: string
  /** The platform that is refused; null: every one. */
  platform: string | null
  /** Of the latest `consent_withdrawal` event, in the space of publishable keys. */
  eventId: string
  /** The page's `Origin` header. */
  origin: string | null
  /** Whether it also reaches events of the tracker secret. */
  reachesSecret: boolean
  /** How many identifiers of the visitor it reaches. */
  identifiers: number
  firstWithdrawnAt: Date
  withdrawnAt: Date
  liftedAt: Date | null
  liftReason: string | null
}

const COLUMNS = `id, visitor_id, platform, event_id, origin, reaches_secret, identifiers,
  first_withdrawn_at, withdrawn_at, lifted_at, lift_reason`

/** No platform has this name. */
const EVERY_PLATFORM = ''

// biome-ignore lint/suspicious/noExplicitAny: a driver row; every member is read and named here.
function toPageWithdrawal(row: any): PageWithdrawal {
  return {
    id: row.id,
    visitorId: row.visitor_id,
    platform: row.platform === EVERY_PLATFORM ? null : row.platform,
    eventId: row.event_id,
    origin: row.origin,
    reachesSecret: row.reaches_secret,
    identifiers: row.identifiers,
    firstWithdrawnAt: row.first_withdrawn_at,
    withdrawnAt: row.withdrawn_at,
    liftedAt: row.lifted_at,
    liftReason: row.lift_reason,
  }
}

type StoredMembers =
  | 'id'
  | 'visitorId'
  | 'platform'
  | 'eventId'
  | 'origin'
  | 'reachesSecret'
  | 'identifiers'
  | 'withdrawnAt'

/** The ID is used when the visitor has no such withdrawal yet. */
export interface NewPageWithdrawal extends Pick<PageWithdrawal, StoredMembers> {
  trackerId: string
  /** As in `consent_withdrawals`. */
  keys: readonly string[]
}

/**
 * Stores a page's withdrawal with the keys by which events find it. A visitor who withdrew before
 * keeps the ID; one whose withdrawal was lifted has withdrawn again. Safe to repeat.
 */
export function storePageWithdrawal(
  database: Pick<Database, 'pool'>,
  withdrawal: NewPageWithdrawal,
): Promise<string> {
  return inTransaction(database, client => writePageWithdrawal(client, withdrawal))
}

/** A connection, in a transaction or not. */
type Client = Pick<pg.ClientBase, 'query'>

async function writePageWithdrawal(client: Client, withdrawal: NewPageWithdrawal): Promise<string> {
  const { trackerId, visitorId, platform, id, eventId, origin } = withdrawal
  const { reachesSecret, identifiers, withdrawnAt, keys } = withdrawal
  const { rows } = await client.query({
    name: 'store-page-withdrawal',
    text: `insert into page_withdrawals (tracker_id, visitor_id, platform, id, event_id, origin,
             reaches_secret, identifiers, first_withdrawn_at, withdrawn_at)
           values ($1::uuid, $2::text, $9::text, $3::uuid, $4::text, $5::text, $6::boolean,
             $7::integer, $8::timestamptz, $8::timestamptz)
           on conflict (tracker_id, visitor_id, platform) do update set
             event_id = excluded.event_id, origin = excluded.origin,
             identifiers = greatest(page_withdrawals.identifiers, excluded.identifiers),
             withdrawn_at = greatest(page_withdrawals.withdrawn_at, excluded.withdrawn_at),
             lifted_at = null, lift_reason = null
           returning id`,
    values: [
      trackerId,
      visitorId,
      id,
      eventId,
      origin,
      reachesSecret,
      identifiers,
      withdrawnAt.toISOString(),
      platform ?? EVERY_PLATFORM,
    ],
  })
  const storedId: string = rows[0].id
  const visitorKeys = listVisitorDigests(visitorId).map(toVisitorKey)
  const added = { trackerId, id: storedId, withdrawnAt, keys: [...keys, ...visitorKeys] }
  await writeKeys(client, added)
  return storedId
}

/** No visitor ID begins with a space, and no event is looked up by such a key. */
const VISITOR_PREFIX = ' visitor:'

/** The key by which an erasure finds the withdrawals of a visitor ID, lifted or not. */
function toVisitorKey(digest: string): string {
  return `${VISITOR_PREFIX}${digest}`
}

interface AddedKeys {
  trackerId: string
  id: string
  withdrawnAt: Date
  keys: readonly string[]
}

/** Adds keys to a stored withdrawal, unless it was lifted in the meantime. Safe to repeat. */
export async function addPageWithdrawalKeys(
  { pool }: Pick<Database, 'pool'>,
  added: AddedKeys,
): Promise<void> {
  if (added.keys.length > 0) await writeKeys(pool, added)
}

async function writeKeys(
  client: Client | pg.Pool,
  { trackerId, id, withdrawnAt, keys }: AddedKeys,
): Promise<void> {
  await client.query({
    name: 'add-page-withdrawal-keys',
    text: `insert into page_withdrawal_keys (tracker_id, key, withdrawal_id, withdrawn_at)
           select $1::uuid, key, $2::uuid, $3::timestamptz
           from unnest($4::text[]) as key
           where exists (
             select 1 from page_withdrawals
             where tracker_id = $1::uuid and id = $2::uuid and lifted_at is null
           )
           order by key
           on conflict (tracker_id, key, withdrawal_id) do update set
             withdrawn_at = greatest(page_withdrawal_keys.withdrawn_at, excluded.withdrawn_at)`,
    values: [trackerId, id, withdrawnAt.toISOString(), arrayLiteral([...new Set(keys)])],
  })
}

/** More than there are platforms. */
const OF_VISITOR_MAX = 100

/**
 * The withdrawals of a visitor, lifted or not, the one for every platform first. The range of one
 * ID asks for the primary key: an equality may be filtered from the index by time while the table
 * has no statistics.
 */
export async function findPageWithdrawals(
  { pool }: Pick<Database, 'pool'>,
  { trackerId, visitorId }: { trackerId: string; visitorId: string },
): Promise<PageWithdrawal[]> {
  const { rows } = await pool.query({
    name: 'find-page-withdrawals',
    text: `select ${COLUMNS} from page_withdrawals
           where tracker_id = $1::uuid and visitor_id >= $2::text and visitor_id <= $2::text
           order by visitor_id, platform limit ${OF_VISITOR_MAX}`,
    values: [trackerId, visitorId],
  })
  return rows.map(toPageWithdrawal)
}

export interface PageWithdrawalSearch {
  trackerId: string
  /** Null: lifted ones too. */
  isLifted: boolean | null
  /** The ID of the last one of the previous page; null for the first page. */
  afterId: string | null
  limit: number
}

/** The withdrawals of a tracker, latest first. */
export async function listPageWithdrawals(
  { pool }: Pick<Database, 'pool'>,
  { trackerId, isLifted, afterId, limit }: PageWithdrawalSearch,
): Promise<PageWithdrawal[]> {
  const [after] = afterId ? await findPageWithdrawalsById({ pool }, trackerId, [afterId]) : []
  const { rows } = await pool.query(
    `select ${COLUMNS} from page_withdrawals
     where tracker_id = $1::uuid
       and ($2::boolean is null or (lifted_at is not null) = $2::boolean)
       and (withdrawn_at, id) < ($3::timestamptz, $4::uuid)
     order by withdrawn_at desc, id desc
     limit $5::integer`,
    [trackerId, isLifted, after?.withdrawnAt ?? 'infinity', after?.id ?? LAST_ID, limit],
  )
  return rows.map(toPageWithdrawal)
}

/** Sorts after every other ID. */
const LAST_ID = 'ffffffff-ffff-ffff-ffff-ffffffffffff'

/** The withdrawals with these IDs, in any order. */
export async function findPageWithdrawalsById(
  { pool }: Pick<Database, 'pool'>,
  trackerId: string,
  ids: readonly string[],
): Promise<PageWithdrawal[]> {
  const { rows } = await pool.query({
    name: 'find-page-withdrawals-by-id',
    text: `select ${COLUMNS} from page_withdrawals
           where tracker_id = $1::uuid and id = any($2::uuid[])`,
    values: [trackerId, arrayLiteral(ids)],
  })
  return rows.map(toPageWithdrawal)
}

interface LiftedWithdrawals {
  trackerId: string
  ids: readonly string[]
  reason: string
  at: Date
}

/** Lifts withdrawals, which ends their effect. Returns the IDs of those that were in force. */
export async function liftPageWithdrawals(
  { query }: Transaction,
  { trackerId, ids, reason, at }: LiftedWithdrawals,
): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    update page_withdrawals set lifted_at = ${at}::timestamptz, lift_reason = ${reason}::text
    where tracker_id = ${trackerId}::uuid and id = any(${arrayLiteral(ids)}::uuid[])
      and lifted_at is null
    returning id`.execute(query)
  const lifted = rows.map(({ id }) => id)
  await sql`
    delete from page_withdrawal_keys
    where tracker_id = ${trackerId}::uuid
      and withdrawal_id = any(${arrayLiteral(lifted)}::uuid[])
      and not starts_with(key, ${VISITOR_PREFIX}::text)`.execute(query)
  return lifted
}

/**
 * Deletes the withdrawals of visitor IDs that have the digest of an erased person. Their events are
 * no longer sent, so nothing is withdrawn any more. The range of one key asks for the primary key.
 */
export async function erasePageWithdrawals(
  { pool }: Pick<Database, 'pool'>,
  trackerId: string,
  digest: string,
): Promise<void> {
  const { rows } = await pool.query({
    text: `select withdrawal_id from page_withdrawal_keys
           where tracker_id = $1::uuid and key >= $2::text and key <= $2::text
           order by key, withdrawal_id`,
    values: [trackerId, toVisitorKey(digest)],
  })
  if (rows.length === 0) return
  const values = [trackerId, arrayLiteral(rows.map(row => row.withdrawal_id))]
  for (const [table, id] of [
    ['page_withdrawals', 'id'],
    ['page_withdrawal_keys', 'withdrawal_id'],
  ]) {
    await pool.query({
      text: `delete from ${table} where tracker_id = $1::uuid and ${id} = any($2::uuid[])`,
      values,
    })
  }
}
