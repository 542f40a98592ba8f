import { createSecretKey, type KeyObject, randomBytes } from 'node:crypto'
import type { Database } from '../db/database.ts'
import {
  type CredentialKeys,
  type OpenedCredential,
  openCredential,
  sealCredential,
} from '../delivery/sealed-credential.ts'

/** The key cannot be opened; the message is one sentence that says what to do. */
export class ErasureKeyError extends Error {
  override name = 'ErasureKeyError'
}

interface ErasureKeyContext {
  database: Database
  credentialKeys: CredentialKeys
  now: () => Date
}

const KEY_BYTES = 32
/** What is bound to it where a destination's id is bound to a credential. */
const SEAL_CONTEXT = 'erasure-key'

/**
 * Makes the function that gives the key under which the digests of erased people are kept. It is
 * made once a store and lies in it sealed with the credential key: so every process has the same
 * one, it survives a rotation of the credential key, and a copy of the store alone tells nobody who
 * was erased. The function remembers the key, and throws an ErasureKeyError when it cannot be had.
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
  // Whoever came first has made it.
  const sealedKey = (await findSealedKey(database)) as Buffer
  return createSecretKey(Buffer.from(openKey(credentialKeys, sealedKey).credential, 'hex'))
}

/**
 * Throws an ErasureKeyError when there is a key that cannot be opened: a start should say so, and
 * not the events of the trackers that have erased somebody, none of which could be accepted.
 */
export async function verifyErasureKey(database: Database, keys: CredentialKeys): Promise<void> {
  const sealedKey = await findSealedKey(database)
  if (sealedKey !== null) openKey(keys, sealedKey)
}

/**
 * Brings the key under the current credential key, so that the previous ones may be forgotten. Like
 * the credentials, it is resealed only by whoever says that every process has the new one. False
 * when there was nothing to do. Throws an ErasureKeyError when no key opens it.
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

/** The sealed key; null before the first deletion. */
async function findSealedKey({ query }: Database): Promise<Buffer | null> {
  const row = await query.selectFrom('erasure_keys').select('sealed_key').executeTakeFirst()
  return row?.sealed_key ?? null
}

/** Keeps the first key that anybody offers. */
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

/** Writes the same key sealed anew, unless somebody else has meanwhile. */
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
