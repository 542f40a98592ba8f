import type { AddressLimit } from '../access/limit-addresses.ts'
import type { Database, Transaction } from '../db/database.ts'
import { derivedKey } from '../http/derived-key.ts'
import type { RateLimit } from '../http/rate-limit.ts'
import type { ServiceLogger } from '../http/service-app.ts'
import type { AdAccount } from './ad-account-store.ts'
import {
  type AuthLibrary,
  type AuthMails,
  authLibrary,
  type SocialClients,
  type SocialProvider,
} from './auth-library.ts'
import type { SessionContext } from './current-person.ts'
import {
  alreadyKnownLetter,
  resetLetter,
  signInLetter,
  verificationLetter,
} from './mail/letters.ts'
import type { Mails } from './mail/mails.ts'

/** What every verb and route of this room works with. */
export interface PeopleContext extends SessionContext {
  mails: Mails
  limits: PeopleLimits
  social: readonly SocialProvider[]
  onAdAccountAdded: AdAccountWatcher
  /** Made on first use, because a free port is known only then. */
  library: () => Promise<AuthLibrary>
}

/**
 * What else has to be there with a new ad account, in the transaction that makes it. This room
 * knows nothing of campaigns; who does stands above it.
 */
export type AdAccountWatcher = (transaction: Transaction, account: AdAccount) => Promise<unknown>

export interface PeopleLimits {
  signIn: AddressLimit | null
  signInAccount: RateLimit | null
}

export interface PeopleOptions {
  database: Database
  logger: ServiceLogger
  now: () => Date
  publicOrigin: () => string
  mails: Mails
  limits: PeopleLimits
  social: SocialClients
  onAdAccountAdded: AdAccountWatcher
  /** 32 bytes, from which the key of links and of social sign-in is derived. */
  masterKey: Buffer
}

export function peopleContext(options: PeopleOptions): PeopleContext {
  const { database, logger, now, publicOrigin, social, mails, onAdAccountAdded } = options
  const secret = derivedKey(options.masterKey, 'signalbox people').toString('hex')
  let library: Promise<AuthLibrary> | null = null
  return {
    database,
    now,
    publicOrigin,
    mails,
    onAdAccountAdded,
    limits: options.limits,
    social: Object.keys(social) as SocialProvider[],
    library: () => {
      library ??= authLibrary({
        ...{ database, logger, now, secret, social },
        publicOrigin: publicOrigin(),
        mails: authMails(mails, publicOrigin),
      })
      return library
    },
  }
}

function authMails(mails: Mails, publicOrigin: () => string): AuthMails {
  return {
    verifyAddress: (person, token) => mails.send(verificationLetter(publicOrigin(), person, token)),
    alreadyKnown: person => mails.send(alreadyKnownLetter(publicOrigin(), person)),
    resetPassword: (person, token) => mails.send(resetLetter(publicOrigin(), person, token)),
    signInLink: (email, token) => mails.send(signInLetter(publicOrigin(), email, token)),
  }
}
