import { createSecretKey, type KeyObject, randomBytes } from 'node:crypto'
import { CompiledQuery } from 'kysely'
import type { Database, Transaction } from '../../runtime/db/database.ts'
import {
  type CredentialKeys,
  type OpenedCredential,
  openCredential,
  sealCredential,
} from '../../runtime/util/sealed-credential.ts'

/** The key cannot be decrypted. The message says what to do. */
export class ErasureKeyError extends Error {
  override name = 'ErasureKeyError'
}

interface ErasureKeyContext {
  database: Database
  credentialKeys: CredentialKeys
  now: () => Date
}

const KEY_BYTES = 32
/** The context of the encryption; credentials use the ID of their destination. */
const SEAL_CONTEXT = 'erasure-key'

/**
 * Returns a function that provides the HMAC key for the digests of erased people. Each store has
 * one key, encrypted with the credential key: all processes share it, it survives a rotation of the
 * credential key, and a copy of the store alone does not reveal who was erased. The function caches
 * the key and throws an ErasureKeyError when it cannot be decrypted.
 */
export function createErasureKeyProvider(context: ErasureKeyContext): () => Promise<KeyObject> {
  let key: Promise<KeyObject> | null = null
  return () => {
    key ??= openOrCreateKey(context).catch(error => {
      key = null
      throw error
    })
    return key
  }
}

async function openOrCreateKey({ database, credentialKeys, now }: ErasureKeyContext) {
  if ((await findSealedKey(database)) === null) {
    const made = randomBytes(KEY_BYTES).toString('hex')
    const sealedKey = sealCredential(credentialKeys, SEAL_CONTEXT, made)
    await insertSealedKey(database, { sealedKey, at: now() })
  }
  // A concurrent process may have inserted its own key first.
  const sealedKey = (await findSealedKey(database)) as Buffer
  return createSecretKey(Buffer.from(openKey(credentialKeys, sealedKey).credential, 'hex'))
}

/**
 * Throws an ErasureKeyError when the stored key cannot be decrypted, so that the process fails at
 * startup and not later, when it could accept no event of trackers with erasures.
 */
export async function verifyErasureKey(database: Database, keys: CredentialKeys): Promise<void> {
  const sealedKey = await findSealedKey(database)
  if (sealedKey !== null) openKey(keys, sealedKey)
}

/**
 * Encrypts the key with the current credential key, so that previous ones can be removed. As with
 * credentials, an operator runs this once every process has the new key. Returns false when nothing
 * changed. Throws an ErasureKeyError when no key decrypts it.
 */
export async function resealErasureKey(database: Database, keys: CredentialKeys): Promise<boolean> {
  const sealedKey = await findSealedKey(database)
  if (sealedKey === null) return false
  const { credential, key } = openKey(keys, sealedKey)
  if (key === 'current') return false
  await updateSealedKey(database, {
    sealedKey,
    resealed: sealCredential(keys, SEAL_CONTEXT, credential),
  })
  return true
}

function openKey(keys: CredentialKeys, sealedKey: Buffer): OpenedCredential {
  const found = openCredential(keys, SEAL_CONTEXT, sealedKey)
  if (found) return found
  throw new ErasureKeyError(
    'The key of erased identifiers cannot be opened with this SIGNALBOX_CREDENTIAL_KEY: ' +
      'set the one that the store was used with before, or name it in ' +
      'SIGNALBOX_CREDENTIAL_KEY_PREVIOUS.',
  )
}

/** The encrypted key; null before the first deletion. */
async function findSealedKey({ query }: Database): Promise<Buffer | null> {
  const row = await query.selectFrom('erasure_keys').select('sealed_key').executeTakeFirst()
  return row?.sealed_key ?? null
}

/** Inserts the key unless the store has one. */
async function insertSealedKey(
  { query }: Database,
  { sealedKey, at }: { sealedKey: Buffer; at: Date },
): Promise<void> {
  await query
    .insertInto('erasure_keys')
    .values({ id: 1, sealed_key: sealedKey, created_at: at })
    .onConflict(conflict => conflict.column('id').doNothing())
    .execute()
}

/** Replaces the encrypted key, unless another process has replaced it. */
async function updateSealedKey(
  { query }: Database,
  { sealedKey, resealed }: { sealedKey: Buffer; resealed: Buffer },
): Promise<void> {
  await query
    .updateTable('erasure_keys')
    .set({ sealed_key: resealed })
    .where('id', '=', 1)
    .where('sealed_key', '=', sealedKey)
    .execute()
}

export interface CompletedDeletion {
  trackerId: string
  /** HMAC of the digest, in hexadecimal. The digest itself is not stored. */
  keyed: string
  /** The ID of the receipt if it is the first for this digest. */
  newId: string
  events: number
  sessions: number
  completedAt: Date
}

export interface DeletionReceipt {
  id: string
  isFirst: boolean
}

/** Inserts the receipt or adds to the existing one. One of several equal requests is first. */
export async function upsertReceipt(
  { query }: Transaction,
  { trackerId, keyed, newId, events, sessions, completedAt }: CompletedDeletion,
): Promise<DeletionReceipt> {
  const statement = CompiledQuery.raw(
    `insert into deletion_requests as receipt (tracker_id, keyed_digest, id, requests,
       events_updated, sessions_updated, created_at, completed_at)
     values ($1::uuid, $2::bytea, $3::text, 1, $4::integer, $5::integer, $6::timestamptz,
       $6::timestamptz)
     on conflict (tracker_id, keyed_digest) do update set
       requests = receipt.requests + 1,
       events_updated = receipt.events_updated + excluded.events_updated,
       sessions_updated = receipt.sessions_updated + excluded.sessions_updated,
       completed_at = greatest(receipt.completed_at, excluded.completed_at)
     returning id, requests = 1 as "isFirst"`,
    [trackerId, Buffer.from(keyed, 'hex'), newId, events, sessions, completedAt],
  )
  const { rows } = await query.executeQuery(statement)
  return rows[0] as DeletionReceipt
}

/** An erasure as the list shows it; it does not tell who was erased. */
interface ListedDeletion {
  id: string
  requests: number
  events: number
  sessions: number
  createdAt: Date
  completedAt: Date
}

interface ReceiptPage {
  trackerId: string
  /** The ID of the last receipt of the page before; null for the first page. */
  after: string | null
  limit: number
}

/** A page of the receipts of a tracker, newest first: IDs are UUIDv7 and sort by time. */
export async function listReceipts(
  { pool }: Database,
  { trackerId, after, limit }: ReceiptPage,
): Promise<ListedDeletion[]> {
  const { rows } = await pool.query({
    name: 'list-receipts',
    text: `select id, requests, events_updated, sessions_updated, created_at, completed_at
           from deletion_requests
           where tracker_id = $1::uuid and ($2::text is null or id < $2::text)
           order by id desc limit $3::integer`,
    values: [trackerId, after, limit],
  })
  return rows.map(row => ({
    id: row.id,
    requests: row.requests,
    events: row.events_updated,
    sessions: row.sessions_updated,
    createdAt: row.created_at,
    completedAt: row.completed_at,
  }))
}
