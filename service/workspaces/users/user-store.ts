import { sql } from 'kysely'
import type { Database } from '../../runtime/db/database.ts'
import { type WithdrawnInvitation, withdrawInvitationsOfUser } from './invitation-store.ts'
import { deleteSessions } from './session-store.ts'

export interface User {
  userId: number
  email: string
  name: string
  isEmailVerified: boolean
}

interface NewUser {
  email: string
  name: string
  /** Null for a user who signs in by a provider. */
  passwordHash: string | null
  mustChangePassword: boolean
  createdAt: Date
}

type Query = Pick<Database, 'query'>

/** Inserts a user with a verified address. Returns null when the address is taken. */
export async function insertUser({ query }: Query, user: NewUser): Promise<number | null> {
  const { createdAt } = user
  const row = await query
    .insertInto('people.users')
    .values({
      email: user.email,
      name: user.name,
      email_verified: true,
      must_change_password: user.mustChangePassword,
      created_at: createdAt,
      updated_at: createdAt,
    })
    .onConflict(conflict => conflict.column('email').doNothing())
    .returning('id')
    .executeTakeFirst()
  if (!row) return null
  const { passwordHash } = user
  if (passwordHash !== null) {
    await insertPassword({ query }, row.id, { passwordHash, at: createdAt })
  }
  return row.id
}

export async function findUserByEmail({ query }: Query, email: string): Promise<User | null> {
  const row = await selectUsers(query).where('email', '=', email).executeTakeFirst()
  return row ? toUser(row) : null
}

export async function findUserById({ query }: Query, userId: number): Promise<User | null> {
  const row = await selectUsers(query).where('id', '=', userId).executeTakeFirst()
  return row ? toUser(row) : null
}

function selectUsers(query: Query['query']) {
  return query.selectFrom('people.users').select(['id', 'email', 'name', 'email_verified'])
}

function toUser(row: { id: number; email: string; name: string; email_verified: boolean }): User {
  return {
    userId: row.id,
    email: row.email,
    name: row.name,
    isEmailVerified: row.email_verified,
  }
}

/** Null for a user who only signs in by a link or a provider. */
export async function findPasswordHash({ query }: Query, userId: number): Promise<string | null> {
  const row = await query
    .selectFrom('people.accounts')
    .select('password')
    .where('user_id', '=', userId)
    .where('provider_id', '=', 'credential')
    .executeTakeFirst()
  return row?.password ?? null
}

/** As `findPasswordHash`, and null for an unknown address, in one statement for both. */
export async function findPasswordHashByEmail(
  { query }: Query,
  email: string,
): Promise<string | null> {
  const row = await query
    .selectFrom('people.users as person')
    .innerJoin('people.accounts as account', 'account.user_id', 'person.id')
    .select('account.password')
    .where('person.email', '=', email)
    .where('account.provider_id', '=', 'credential')
    .executeTakeFirst()
  return row?.password ?? null
}

/**
 * Replaces an outdated hash of the same password. Does nothing when the password was changed
 * meanwhile.
 */
export async function replacePasswordHash(
  { query }: Query,
  userId: number,
  { from, to }: { from: string; to: string },
): Promise<void> {
  await query
    .updateTable('people.accounts')
    .set({ password: to })
    .where('user_id', '=', userId)
    .where('provider_id', '=', 'credential')
    .where('password', '=', from)
    .execute()
}

interface NewPassword {
  passwordHash: string
  at: Date
}

/** Sets the password, including the first one, and ends the links that were emailed before. */
export async function setPassword(
  { query }: Query,
  userId: number,
  { passwordHash, at, mustChangePassword = false }: NewPassword & { mustChangePassword?: boolean },
): Promise<void> {
  const changed = await query
    .updateTable('people.accounts')
    .set({ password: passwordHash, updated_at: at })
    .where('user_id', '=', userId)
    .where('provider_id', '=', 'credential')
    .returning('id')
    .executeTakeFirst()
  if (!changed) await insertPassword({ query }, userId, { passwordHash, at })
  await query
    .updateTable('people.users')
    .set({ must_change_password: mustChangePassword, updated_at: at })
    .where('id', '=', userId)
    .execute()
  await deleteEmailLinks({ query }, userId)
}

/**
 * Deletes the links to sign in and to choose a password that a user was emailed. The library
 * stores the ID of the user with a reset, and a JSON object with the address with a sign-in.
 */
export async function deleteEmailLinks({ query }: Query, userId: number): Promise<void> {
  await query
    .deleteFrom('people.verifications')
    .where(({ eb, or, selectFrom }) =>
      or([
        eb('value', '=', String(userId)),
        eb(
          sql<string>`case when starts_with(value, '{') then value::jsonb ->> 'email' end`,
          '=',
          selectFrom('people.users').select('email').where('id', '=', userId),
        ),
      ]),
    )
    .execute()
}

/**
 * Marks the address as verified and the password as chosen by the user. Provider accounts that
 * were linked before the verification may belong to an attacker, so they are unlinked.
 */
export async function markEmailVerified({ query }: Query, userId: number): Promise<void> {
  const verified = await query
    .updateTable('people.users')
    .set({ email_verified: true })
    .where('id', '=', userId)
    .where('email_verified', '=', false)
    .returning('id')
    .executeTakeFirst()
  if (verified) {
    await query
      .deleteFrom('people.accounts')
      .where('user_id', '=', userId)
      .where('provider_id', '<>', 'credential')
      .execute()
  }
  await query
    .updateTable('people.users')
    .set({ must_change_password: false })
    .where('id', '=', userId)
    .execute()
}

/** The library stores a password as an account of the provider `credential`. */
async function insertPassword(
  { query }: Query,
  userId: number,
  { passwordHash, at }: NewPassword,
): Promise<void> {
  await query
    .insertInto('people.accounts')
    .values({
      account_id: String(userId),
      provider_id: 'credential',
      user_id: userId,
      password: passwordHash,
      created_at: at,
      updated_at: at,
    })
    .execute()
}

/** Of `people.accounts`: an identity at the OpenID provider of a company. */
const OPENID_PROVIDER = 'oidc'

/** `accountId` is the issuer and the subject. */
export async function findUserByIdentity(
  { query }: Query,
  accountId: string,
): Promise<number | null> {
  const row = await query
    .selectFrom('people.accounts')
    .select('user_id')
    .where('provider_id', '=', OPENID_PROVIDER)
    .where('account_id', '=', accountId)
    .executeTakeFirst()
  return row?.user_id ?? null
}

/** Of one user: the issuer and the subject of each. */
export async function listLinkedIdentities({ query }: Query, userId: number): Promise<string[]> {
  const rows = await query
    .selectFrom('people.accounts')
    .select('account_id')
    .where('user_id', '=', userId)
    .where('provider_id', '=', OPENID_PROVIDER)
    .execute()
  return rows.map(row => row.account_id)
}

/** Does nothing when a concurrent request has linked it. */
export async function linkIdentity(
  { query }: Query,
  userId: number,
  { accountId, at }: { accountId: string; at: Date },
): Promise<void> {
  await query
    .insertInto('people.accounts')
    .values({
      account_id: accountId,
      provider_id: OPENID_PROVIDER,
      user_id: userId,
      created_at: at,
      updated_at: at,
    })
    .onConflict(conflict => conflict.doNothing())
    .execute()
}

type UserStatus = 'active' | 'disabled'

/**
 * Disabling also ends the user's sessions, emailed links and invitations, and returns these
 * invitations. Returns null when no user has this address.
 */
export async function setUserStatus(
  { query }: Query,
  email: string,
  status: UserStatus,
): Promise<{ withdrawn: WithdrawnInvitation[] } | null> {
  const change = async (transaction: Query['query']) => {
    const row = await transaction
      .updateTable('people.users')
      .set({ status })
      .where('email', '=', email)
      .returning('id')
      .executeTakeFirst()
    if (!row) return null
    if (status !== 'disabled') return { withdrawn: [] }
    await deleteSessions({ query: transaction }, row.id)
    await deleteEmailLinks({ query: transaction }, row.id)
    return { withdrawn: await withdrawInvitationsOfUser({ query: transaction }, row.id) }
  }
  return query.isTransaction ? change(query) : query.transaction().execute(change)
}
