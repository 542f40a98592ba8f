import { sql } from 'kysely'
import type { Database } from '../../runtime/db/database.ts'

type Query = Pick<Database, 'query'>

/** Wrong codes in a row until an account accepts none for a while. */
const FAILURES_MAX = 10
export const SECOND_FACTOR_LOCK_SECONDS = 900

/**
 * Counts one attempt to enter a code, before the code is checked, so that concurrent guesses all
 * count. Returns false while the account accepts no code, after too many wrong ones in a row.
 */
export async function takeSecondFactorAttempt(
  { query }: Query,
  userId: number,
  at: Date,
): Promise<boolean> {
  const lockedUntil = new Date(at.getTime() + SECOND_FACTOR_LOCK_SECONDS * 1_000)
  const taken = await query
    .updateTable('people.two_factors')
    .set({
      failed_verification_count: sql`case when failed_verification_count + 1 >= ${FAILURES_MAX}
        then 0 else failed_verification_count + 1 end`,
      locked_until: sql`case when failed_verification_count + 1 >= ${FAILURES_MAX}
        then ${lockedUntil}::timestamptz else null end`,
    })
    .where('user_id', '=', userId)
    .where(({ eb, or }) => or([eb('locked_until', 'is', null), eb('locked_until', '<=', at)]))
    .returning('id')
    .executeTakeFirst()
  return taken !== undefined
}

/** After a correct code. */
export async function resetSecondFactorFailures({ query }: Query, userId: number): Promise<void> {
  await query
    .updateTable('people.two_factors')
    .set({ failed_verification_count: 0, locked_until: null })
    .where('user_id', '=', userId)
    .execute()
}

/** A code stays valid for 90 seconds: its own 30, and one period before and after. */
const CODE_REUSE_MINUTES = 5
const CODE_REUSE = sql.raw(`interval '${CODE_REUSE_MINUTES} minutes'`)

interface UsedCode {
  userId: number
  digest: Buffer
  at: Date
}

/** Marks a code as used. Returns false when it was used before, also concurrently. */
export async function claimTotpCode(
  { query }: Query,
  { userId, digest, at }: UsedCode,
): Promise<boolean> {
  const claimed = await query
    .insertInto('people.used_totp_codes')
    .values({ user_id: userId, code_digest: digest, used_at: at })
    .onConflict(conflict =>
      conflict
        .columns(['user_id', 'code_digest'])
        .doUpdateSet(({ ref }) => ({ used_at: ref('excluded.used_at') }))
        .where(sql<boolean>`used_totp_codes.used_at < excluded.used_at - ${CODE_REUSE}`),
    )
    .returning('user_id')
    .executeTakeFirst()
  return claimed !== undefined
}

export async function deleteUsedTotpCodes({ query }: Query, at: Date): Promise<void> {
  const before = new Date(at.getTime() - CODE_REUSE_MINUTES * 60_000)
  await query.deleteFrom('people.used_totp_codes').where('used_at', '<', before).execute()
}

/** The authenticator app of a user, if it is set up. */
export async function hasAuthenticatorApp({ query }: Query, userId: number): Promise<boolean> {
  const row = await query
    .selectFrom('people.two_factors')
    .select('id')
    .where('user_id', '=', userId)
    .where('verified', '=', true)
    .executeTakeFirst()
  return row !== undefined
}

export interface Passkey {
  id: number
  name: string
  createdAt: Date | null
}

export const PASSKEYS_MAX = 20

/** Oldest first. */
export async function listPasskeys({ query }: Query, userId: number): Promise<Passkey[]> {
  const rows = await query
    .selectFrom('people.passkeys')
    .select(['id', 'name', 'created_at'])
    .where('user_id', '=', userId)
    .orderBy('id')
    .limit(PASSKEYS_MAX)
    .execute()
  return rows.map(row => ({ id: row.id, name: row.name ?? 'Passkey', createdAt: row.created_at }))
}

/** Returns false when the user has no passkey with this ID. */
export async function deletePasskey(
  { query }: Query,
  userId: number,
  passkeyId: number,
): Promise<boolean> {
  const deleted = await query
    .deleteFrom('people.passkeys')
    .where('id', '=', passkeyId)
    .where('user_id', '=', userId)
    .returning('id')
    .executeTakeFirst()
  return deleted !== undefined
}

/** Deletes the authenticator app and its recovery codes. Returns whether one was set up. */
export async function deleteAuthenticatorApp({ query }: Query, userId: number): Promise<boolean> {
  const deleted = await query
    .deleteFrom('people.two_factors')
    .where('user_id', '=', userId)
    .returning('verified')
    .execute()
  await query
    .updateTable('people.users')
    .set({ two_factor_enabled: false })
    .where('id', '=', userId)
    .execute()
  return deleted.some(({ verified }) => verified === true)
}

/** Returns the number of passkeys that were deleted. */
export async function deletePasskeys({ query }: Query, userId: number): Promise<number> {
  const deleted = await query
    .deleteFrom('people.passkeys')
    .where('user_id', '=', userId)
    .returning('id')
    .execute()
  return deleted.length
}
