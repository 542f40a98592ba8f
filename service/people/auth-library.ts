import { type BetterAuthOptions, betterAuth } from 'better-auth'
import { hashPassword, verifyPassword } from 'better-auth/crypto'
import { getAdapter } from 'better-auth/db/adapter'
import { magicLink } from 'better-auth/plugins'
import type { Database } from '../db/database.ts'
import type { ServiceLogger } from '../http/service-app.ts'
import { PASSWORD_CHARACTERS_MAX, PASSWORD_CHARACTERS_MIN } from './account-fields.ts'
import { markEmailVerified } from './person-store.ts'
import { hashSessionToken, SESSION_DAYS, withHashedSessionTokens } from './session-token.ts'

/** A link that was mailed works for so long, and once. */
export const LINK_LIFETIME_MINUTES = { verification: 24 * 60, reset: 60, signIn: 15 } as const

export const SOCIAL_PROVIDERS = ['google', 'github'] as const
export type SocialProvider = (typeof SOCIAL_PROVIDERS)[number]
export type SocialClients = Partial<
  Record<SocialProvider, { clientId: string; clientSecret: string }>
>

/** Somebody to whom a link goes. */
export interface EmailRecipient {
  email: string
  name: string
}

/** What the library asks us to tell people. None of them waits for the mail to arrive. */
export interface AuthMailer {
  sendVerification(person: EmailRecipient, token: string): void
  /** Somebody signs up with an address that is known. Its answer must be the same. */
  sendAlreadyRegistered(person: EmailRecipient): void
  sendPasswordReset(person: EmailRecipient, token: string): void
  sendSignInLink(email: string, token: string): void
}

export interface AuthLibraryOptions {
  database: Database
  logger: ServiceLogger
  now: () => Date
  publicOrigin: string
  /** Signs the state of social sign-in and the links that verify an address. */
  secret: string
  social: SocialClients
  mailer: AuthMailer
}

export type AuthLibrary = Awaited<ReturnType<typeof createAuthLibrary>>

/**
 * better-auth, for people only: passwords, mailed links and social providers. Nothing of it is
 * reachable over HTTP but the way back from a social provider; our own routes call it, after their
 * own checks. Workspaces, members and sessions' cookies are ours (docs/decisions/0016).
 */
export async function createAuthLibrary(options: AuthLibraryOptions) {
  const settings = authOptions(options)
  const db = options.database.query.withSchema('people')
  const tables = await getAdapter({
    ...settings,
    database: { db, type: 'postgres', transaction: true },
  })
  const adapter = withHashedSessionTokens(tables, hashSessionToken)
  return betterAuth({ ...settings, database: () => adapter })
}

/** Everything but where the tables are; a test compares them with what these settings ask for. */
export function authOptions(options: AuthLibraryOptions) {
  const { logger, publicOrigin, secret, social } = options
  return {
    appName: 'Signalbox',
    baseURL: publicOrigin,
    basePath: '/auth',
    secret,
    trustedOrigins: [publicOrigin],
    // Its lines hold addresses of people; ours say only that something went wrong.
    logger: {
      level: 'error',
      log: () => logger.error('the sign-in library reports an error'),
    },
    telemetry: { enabled: false },
    // Ours count by address and account, also across its own ways in.
    rateLimit: { enabled: false },
    advanced: {
      cookiePrefix: 'signalbox',
      useSecureCookies: publicOrigin.startsWith('https:'),
      ipAddress: { disableIpTracking: true },
      database: { generateId: 'serial', validateSchema: false },
    },
    socialProviders: social,
    ...emailOptions(options),
    databaseHooks: createDatabaseHooks(options.now),
    ...TABLE_MAPPING,
  } satisfies BetterAuthOptions
}

function emailOptions({ mailer: mails, database }: AuthLibraryOptions) {
  return {
    emailAndPassword: {
      enabled: true,
      requireEmailVerification: true,
      autoSignIn: false,
      minPasswordLength: PASSWORD_CHARACTERS_MIN,
      maxPasswordLength: PASSWORD_CHARACTERS_MAX,
      // scrypt with N 16384 and r 16, which takes 16 MB, outside of the event loop.
      password: { hash: createPasswordHash, verify: isPasswordCorrect },
      revokeSessionsOnPasswordReset: true,
      resetPasswordTokenExpiresIn: LINK_LIFETIME_MINUTES.reset * 60,
      sendResetPassword: async ({ user, token }: { user: EmailRecipient; token: string }) =>
        mails.sendPasswordReset(user, token),
      // Who follows a link to an address has the address.
      onPasswordReset: async ({ user }: { user: { id: string } }) =>
        markEmailVerified(database, Number(user.id)),
      onExistingUserSignUp: async ({ user }: { user: EmailRecipient }) =>
        mails.sendAlreadyRegistered(user),
    },
    emailVerification: {
      expiresIn: LINK_LIFETIME_MINUTES.verification * 60,
      sendOnSignUp: true,
      sendOnSignIn: false,
      // Who follows a link that was sent to somebody else must not find themselves signed in.
      autoSignInAfterVerification: false,
      sendVerificationEmail: async ({ user, token }: { user: EmailRecipient; token: string }) =>
        mails.sendVerification(user, token),
    },
    plugins: [
      magicLink({
        expiresIn: LINK_LIFETIME_MINUTES.signIn * 60,
        storeToken: 'hashed',
        disableSignUp: true,
        sendMagicLink: async ({ email, token }) => mails.sendSignInLink(email, token),
      }),
    ],
  }
}

/** Slow and salted: what is stored of a password. */
export function createPasswordHash(password: string): Promise<string> {
  return hashPassword(password)
}

export function isPasswordCorrect(pair: { hash: string; password: string }): Promise<boolean> {
  return verifyPassword(pair)
}

/** What is stored has the program's time. */
function createDatabaseHooks(now: () => Date) {
  const dayMilliseconds = 86_400_000
  return {
    user: {
      create: {
        before: async (user: object) => ({
          data: { ...user, createdAt: now(), updatedAt: now() },
        }),
      },
    },
    // Nobody needs a provider's tokens once somebody is signed in, so none are kept.
    account: {
      create: {
        before: async (account: object) => ({ data: { ...account, ...EMPTY_PROVIDER_TOKENS } }),
      },
      update: {
        before: async (account: object) => ({ data: { ...account, ...EMPTY_PROVIDER_TOKENS } }),
      },
    },
    session: {
      create: {
        before: async (session: object) => {
          const at = now()
          const expiresAt = new Date(at.getTime() + SESSION_DAYS * dayMilliseconds)
          return { data: { ...session, createdAt: at, updatedAt: at, expiresAt } }
        },
      },
    },
  }
}

const EMPTY_PROVIDER_TOKENS = { accessToken: null, refreshToken: null, idToken: null }

const TIMESTAMP_COLUMNS = { createdAt: 'created_at', updatedAt: 'updated_at' } as const

/** As service/migrations/0012-people.sql makes them. */
const TABLE_MAPPING = {
  user: { modelName: 'users', fields: { emailVerified: 'email_verified', ...TIMESTAMP_COLUMNS } },
  session: {
    modelName: 'sessions',
    fields: {
      userId: 'user_id',
      expiresAt: 'expires_at',
      ipAddress: 'ip_address',
      userAgent: 'user_agent',
      ...TIMESTAMP_COLUMNS,
    },
  },
  account: {
    modelName: 'accounts',
    fields: {
      accountId: 'account_id',
      providerId: 'provider_id',
      userId: 'user_id',
      accessToken: 'access_token',
      refreshToken: 'refresh_token',
      idToken: 'id_token',
      accessTokenExpiresAt: 'access_token_expires_at',
      refreshTokenExpiresAt: 'refresh_token_expires_at',
      ...TIMESTAMP_COLUMNS,
    },
  },
  verification: {
    modelName: 'verifications',
    // The name holds the token of the mailed link: only its digest is stored.
    storeIdentifier: 'hashed' as const,
    fields: { expiresAt: 'expires_at', ...TIMESTAMP_COLUMNS },
  },
} satisfies Pick<BetterAuthOptions, 'user' | 'session' | 'account' | 'verification'>
