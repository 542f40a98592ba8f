import { createSecretKey, type KeyObject, randomBytes } from 'node:crypto'
import type { Database } from '../../runtime/db/database.ts'
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
