import type { Database } from '../db/database.ts'

/** The sealed key; null before the first deletion. */
export async function findSealedKey({ query }: Database): Promise<Buffer | null> {
  const row = await query.selectFrom('erasure_keys').select('sealed_key').executeTakeFirst()
  return row?.sealed_key ?? null
}

/** Keeps the first key that anybody offers. */
export async function keepSealedKey(
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
export async function rewriteSealedKey(
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
