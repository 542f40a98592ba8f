import { hash } from 'node:crypto'
import type { AddressLimit } from '../access/address-limits.ts'
import type { Database, Transaction } from '../db/database.ts'
import { createRateLimitRefusal, type RateLimit } from '../http/rate-limit.ts'
import type { ServiceLogger } from '../http/service-app.ts'
import { deriveKey } from '../util/derive-key.ts'
import type { AdAccount } from './ad-account-store.ts'
import {
  type AuthLibrary,
  type AuthMailer,
  createAuthLibrary,
  type SocialClients,
  type SocialProvider,
} from './auth-library.ts'
import {
  alreadyRegisteredEmail,
  passwordResetEmail,
  signInLinkEmail,
  verificationEmail,
} from './mail/email-templates.ts'
import type { Mailer } from './mail/mail-queue.ts'
import type { SessionContext } from './session-store.ts'

/** What every verb and route of this room works with. */
export interface PeopleContext extends SessionContext {
  mailer: Mailer
  limits: PeopleLimits
  social: readonly SocialProvider[]
  onAdAccountAdded: AdAccountListener
  /** Made on first use, because a free port is known only then. */
  authLibrary: () => Promise<AuthLibrary>
}

/**
 * What else has to be there with a new ad account, in the transaction that makes it. This room
 * knows nothing of campaigns; who does stands above it.
 */
export type AdAccountListener = (transaction: Transaction, account: AdAccount) => Promise<unknown>

interface PeopleLimits {
  signIn: AddressLimit | null
  signInAccount: RateLimit | null
}

interface PeopleOptions {
  database: Database
  logger: ServiceLogger
  now: () => Date
  publicOrigin: () => string
  mailer: Mailer
  limits: PeopleLimits
  social: SocialClients
  onAdAccountAdded: AdAccountListener
  /** 32 bytes, from which the key of links and of social sign-in is derived. */
  masterKey: Buffer
}

export function createPeopleContext(options: PeopleOptions): PeopleContext {
  const { database, logger, now, publicOrigin, social, mailer: mails, onAdAccountAdded } = options
  const secret = deriveKey(options.masterKey, 'signalbox people').toString('hex')
  let library: Promise<AuthLibrary> | null = null
  return {
    database,
    now,
    publicOrigin,
    mailer: mails,
    onAdAccountAdded,
    limits: options.limits,
    social: Object.keys(social) as SocialProvider[],
    authLibrary: () => {
      library ??= createAuthLibrary({
        ...{ database, logger, now, secret, social },
        publicOrigin: publicOrigin(),
        mailer: createAuthMailer(mails, publicOrigin),
      })
      return library
    },
  }
}

function createAuthMailer(mails: Mailer, publicOrigin: () => string): AuthMailer {
  return {
    sendVerification: (person, token) =>
      mails.send(verificationEmail(publicOrigin(), person, token)),
    sendAlreadyRegistered: person => mails.send(alreadyRegisteredEmail(publicOrigin(), person)),
    sendPasswordReset: (person, token) =>
      mails.send(passwordResetEmail(publicOrigin(), person, token)),
    sendSignInLink: (email, token) => mails.send(signInLinkEmail(publicOrigin(), email, token)),
  }
}

/**
 * Counts one attempt at an account, also at one that does not exist, so that the limit tells nobody
 * which do. Throws a 429. The address is only kept as a digest.
 */
export function limitAccountAttempts(
  { limits }: Pick<PeopleContext, 'limits'>,
  email: string,
): void {
  const limit = limits.signInAccount
  if (!limit) return
  const { waitSeconds } = limit.limiter.take(hash('sha256', email, 'base64'))
  if (waitSeconds > 0) throw createRateLimitRefusal(limit, waitSeconds)
}
