import { passkey } from '@better-auth/passkey'
import { APIError, type BetterAuthOptions, betterAuth } from 'better-auth'
import { getAdapter } from 'better-auth/db/adapter'
import { bearer, magicLink, twoFactor } from 'better-auth/plugins'
import type { Database } from '../../runtime/db/database.ts'
import type { ServiceLogger } from '../../runtime/http/service-app.ts'
import { PASSKEY_TABLE, TABLE_MAPPING, TWO_FACTOR_TABLES } from './auth-tables.ts'
import { type EmailRecipient, LINK_LIFETIME_MINUTES } from './mail/email-templates.ts'
import { createPasswordHash, isPasswordCorrect, type ScryptCost } from './password-hash.ts'
import { PASSWORD_CHARACTERS_MAX, PASSWORD_CHARACTERS_MIN } from './password-strength.ts'
import { hashSessionToken, sessionExpiry, withHashedSessionTokens } from './session-token.ts'
import type { SocialClients } from './sign-up-policy.ts'
import { maySignUp, type SignUpPolicy } from './sign-up-policy.ts'
import { toUserName } from './user-input.ts'
import { deleteEmailLinks, findUserByEmail, markEmailVerified } from './user-store.ts'

const APP_NAME = 'Signalbox'

/** The emails that the library requests. Sending does not wait for delivery. */
export interface AuthMailer {
  sendVerification(user: EmailRecipient, token: string): void
  /** For a sign-up with a registered address, whose response must not differ. */
  sendAlreadyRegistered(user: EmailRecipient): void
  sendPasswordReset(user: EmailRecipient, token: string): void
  sendPasswordChanged(user: EmailRecipient): void
  sendSignInLink(email: string, token: string): void
}

interface AuthLibraryOptions {
  database: Database
  logger: ServiceLogger
  now: () => Date
  publicOrigin: string
  /** Signs the state of social sign-in and the verification links. */
  secret: string
  social: SocialClients
  signUp: SignUpPolicy
  mailer: AuthMailer
  passwordCost: ScryptCost
}

export type AuthLibrary = Awaited<ReturnType<typeof createAuthLibrary>>

/**
 * better-auth handles passwords, emailed links and social providers. Only the callback of a social
 * provider is reachable over HTTP; our own routes call the rest after their own checks. Workspaces,
 * members and session cookies are our own (docs/decisions/0016).
 * Loading this file takes 29 MB of memory for each thread, so only the first use loads it.
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

/** The options without the database. A test compares our tables with what they require. */
export function authOptions(options: AuthLibraryOptions) {
  const { logger, publicOrigin, secret, social } = options
  return {
    appName: APP_NAME,
    baseURL: publicOrigin,
    basePath: '/auth',
    secret,
    trustedOrigins: [publicOrigin],
    // Its messages contain email addresses; ours only reports that an error occurred.
    logger: {
      level: 'error',
      log: () => logger.error('the sign-in library reports an error'),
    },
    telemetry: { enabled: false },
    // Our own limits count by address and by account, across all ways to sign in.
    rateLimit: { enabled: false },
    advanced: {
      cookiePrefix: 'signalbox',
      useSecureCookies: publicOrigin.startsWith('https:'),
      ipAddress: { disableIpTracking: true },
      database: { generateId: 'serial', validateSchema: false },
    },
    socialProviders: social,
    ...emailOptions(options),
    plugins: [
      createMagicLinkPlugin(options),
      createTwoFactorPlugin(),
      createPasskeyPlugin(publicOrigin),
      // Our routes name the session as a bearer token. No route of the library accepts one.
      bearer(),
    ],
    databaseHooks: createDatabaseHooks(options),
    ...TABLE_MAPPING,
    session: {
      ...TABLE_MAPPING.session,
      // Our own checks decide how long a session lasts and what needs a recent one.
      disableSessionRefresh: true,
      freshAge: 0,
    },
  } satisfies BetterAuthOptions
}

function emailOptions({ mailer, database, passwordCost }: AuthLibraryOptions) {
  return {
    emailAndPassword: {
      enabled: true,
      requireEmailVerification: true,
      autoSignIn: false,
      minPasswordLength: PASSWORD_CHARACTERS_MIN,
      maxPasswordLength: PASSWORD_CHARACTERS_MAX,
      password: {
        hash: (password: string) => createPasswordHash(password, passwordCost),
        verify: isPasswordCorrect,
      },
      revokeSessionsOnPasswordReset: true,
      resetPasswordTokenExpiresIn: LINK_LIFETIME_MINUTES.reset * 60,
      sendResetPassword: async ({ user, token }: { user: EmailRecipient; token: string }) =>
        mailer.sendPasswordReset(user, token),
      onPasswordReset: async ({ user }: { user: EmailRecipient & { id: string } }) => {
        // Following the link proves that the user controls the address.
        await markEmailVerified(database, Number(user.id))
        await deleteEmailLinks(database, Number(user.id))
        mailer.sendPasswordChanged(user)
      },
      onExistingUserSignUp: async ({ user }: { user: EmailRecipient }) =>
        mailer.sendAlreadyRegistered(user),
    },
    emailVerification: {
      expiresIn: LINK_LIFETIME_MINUTES.verification * 60,
      sendOnSignUp: true,
      sendOnSignIn: false,
      // A user who follows a link that was sent to another must not be signed in.
      autoSignInAfterVerification: false,
      sendVerificationEmail: async ({ user, token }: { user: EmailRecipient; token: string }) =>
        mailer.sendVerification(user, token),
    },
  }
}

function createMagicLinkPlugin({ mailer, database }: AuthLibraryOptions) {
  return magicLink({
    expiresIn: LINK_LIFETIME_MINUTES.signIn * 60,
    storeToken: 'hashed',
    disableSignUp: true,
    // Called for every address, because storing the link takes time: a request for an unknown
    // address must take as long.
    sendMagicLink: async ({ email, token }) => {
      if (await findUserByEmail(database, email)) mailer.sendSignInLink(email, token)
    },
  })
}

/**
 * Secrets, codes and recovery codes. Its own challenge is left out: it only covers sign-in by
 * password, while a second factor is due after every first one.
 */
function createTwoFactorPlugin() {
  const plugin = twoFactor({
    issuer: APP_NAME,
    // People who sign in by a link or a provider have no password.
    allowPasswordless: true,
    accountLockout: { enabled: false },
    schema: TWO_FACTOR_TABLES,
  })
  return { ...plugin, hooks: {} }
}

/** A passkey proves possession and, by PIN or biometrics, the user: both are required. */
function createPasskeyPlugin(publicOrigin: string) {
  return passkey({
    rpName: APP_NAME,
    rpID: new URL(publicOrigin).hostname,
    origin: publicOrigin,
    advanced: { webAuthnChallengeCookie: 'passkey_challenge' },
    authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
    registration: {
      afterVerification: async ({ verification }) => {
        if (!verification.registrationInfo?.userVerified) throw userNotVerified()
      },
    },
    authentication: {
      afterVerification: async ({ verification }) => {
        if (!verification.authenticationInfo.userVerified) throw userNotVerified()
      },
    },
    schema: PASSKEY_TABLE,
  })
}

function userNotVerified(): APIError {
  return new APIError('BAD_REQUEST', { code: 'USER_NOT_VERIFIED' })
}

/**
 * Stored times come from our clock, not from the library's, and names are as ours. A sign-in
 * provider creates an account only for an address that may sign up.
 */
function createDatabaseHooks(options: AuthLibraryOptions) {
  const { now } = options
  return {
    user: {
      create: {
        before: async (user: { name: string; email: string }) => {
          if (!(await maySignUp(options, user.email))) return false
          const name = toUserName(user.name, user.email)
          return { data: { ...user, name, createdAt: now(), updatedAt: now() } }
        },
      },
    },
    // The provider's tokens are not needed after sign-in, so none are stored.
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
          const times = { createdAt: at, updatedAt: at, expiresAt: sessionExpiry(at) }
          return { data: { ...session, ...times } }
        },
      },
    },
  }
}

const EMPTY_PROVIDER_TOKENS = { accessToken: null, refreshToken: null, idToken: null }
