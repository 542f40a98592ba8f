import type { AuditedContext } from '../../audit/audit-store.ts'
import type { Transaction } from '../../runtime/db/database.ts'
import type { AddressedRequest, AddressLimit } from '../../runtime/http/client-address.ts'
import type { ServiceLogger } from '../../runtime/http/service-app.ts'
import type { CredentialKeys } from '../../runtime/util/sealed-credential.ts'
import { deriveKey } from '../../runtime/util/sealed-credential.ts'
import type { AdAccount } from './ad-account-store.ts'
import type { AttemptLimits, DeviceContext } from './attempt-limits.ts'
import type { AuthLibrary, AuthMailer } from './auth-library.ts'
import {
  alreadyRegisteredEmail,
  passwordChangedEmail,
  passwordResetEmail,
  signInLinkEmail,
  verificationEmail,
} from './mail/email-templates.ts'
import type { Mailer } from './mail/mail-queue.ts'
import { PASSWORD_COST, type ScryptCost } from './password-hash.ts'
import type { RoleLossListener } from './role-loss.ts'
import { createSecurityEventRecorder, type RecordSecurityEvent } from './security-events.ts'
import {
  readSignUpPolicy,
  readSingleSignOn,
  readSocialClients,
  type SignUpPolicy,
  type SignUpSettings,
  type SingleSignOn,
  type SingleSignOnSettings,
  type SocialProvider,
  type SocialSettings,
} from './sign-up-policy.ts'

/** What the operations and routes of this module depend on. */
export interface UsersContext extends DeviceContext, AuditedContext {
  logger: ServiceLogger
  mailer: Mailer
  limits: UserLimits
  passwordCost: ScryptCost
  social: readonly SocialProvider[]
  signUp: SignUpPolicy
  /** The OpenID provider of the company that runs the service; null without one. */
  singleSignOn: SingleSignOn | null
  /** Encrypts what a sign-in at that provider leaves in the browser. */
  attemptKey: Buffer
  onAdAccountAdded: AdAccountListener
  onRoleLost: RoleLossListener
  recordSecurityEvent: RecordSecurityEvent
  /** Loaded on first use, which takes 0.2 seconds; the origin may be unknown before. */
  authLibrary: () => Promise<AuthLibrary>
}

/** Runs in the transaction that adds an ad account; `agents` uses it to add simulated campaigns. */
export type AdAccountListener = (transaction: Transaction, account: AdAccount) => Promise<unknown>

interface UserLimits extends AttemptLimits {
  signIn: AddressLimit | null
}

export interface UsersOptions extends AuditedContext {
  logger: ServiceLogger
  now: () => Date
  publicOrigin: () => string
  mailer: Mailer
  limits: UserLimits
  settings: SocialSettings & SignUpSettings & SingleSignOnSettings
  onAdAccountAdded: AdAccountListener
  onRoleLost: RoleLossListener
  /** Returns the address of a client, for security events. */
  addressOf: (request: AddressedRequest) => string
  /** Of new hashes; PASSWORD_COST by default. */
  passwordCost?: ScryptCost | undefined
  /** 32 bytes, from which the keys for links, social sign-in and device cookies are derived. */
  credentialKeys: Pick<CredentialKeys, 'current'>
}

export function createUsersContext(options: UsersOptions): UsersContext {
  const { database, audit, logger, now, publicOrigin, mailer, settings } = options
  const masterKey = options.credentialKeys.current
  const secret = deriveKey(masterKey, 'signalbox people').toString('hex')
  const social = readSocialClients(settings)
  const signUp = readSignUpPolicy(settings)
  const recordSecurityEvent = createSecurityEventRecorder(options)
  const { passwordCost = PASSWORD_COST } = options
  let library: Promise<AuthLibrary> | null = null
  return {
    database,
    audit,
    logger,
    now,
    publicOrigin,
    mailer,
    signUp,
    singleSignOn: readSingleSignOn(settings, { now, publicOrigin }),
    attemptKey: deriveKey(masterKey, 'signalbox single sign-on'),
    onAdAccountAdded: options.onAdAccountAdded,
    onRoleLost: options.onRoleLost,
    recordSecurityEvent,
    passwordCost,
    limits: options.limits,
    deviceKey: deriveKey(masterKey, 'signalbox device cookies'),
    social: Object.keys(social) as SocialProvider[],
    authLibrary: () => {
      library ??= import('./auth-library.ts').then(({ createAuthLibrary }) =>
        createAuthLibrary({
          database,
          logger,
          now,
          secret,
          social,
          signUp,
          passwordCost,
          publicOrigin: publicOrigin(),
          mailer: createAuthMailer({ mailer, publicOrigin, now }),
        }),
      )
      return library
    },
  }
}

type AuthMailerOptions = Pick<UsersOptions, 'mailer' | 'publicOrigin' | 'now'>

function createAuthMailer({ mailer, publicOrigin, now }: AuthMailerOptions): AuthMailer {
  return {
    sendVerification: (user, token) => mailer.send(verificationEmail(publicOrigin(), user, token)),
    sendAlreadyRegistered: user => mailer.send(alreadyRegisteredEmail(publicOrigin(), user)),
    sendPasswordReset: (user, token) =>
      mailer.send(passwordResetEmail(publicOrigin(), user, token)),
    sendPasswordChanged: user => mailer.send(passwordChangedEmail(publicOrigin(), user, now())),
    sendSignInLink: (email, token) => mailer.send(signInLinkEmail(publicOrigin(), email, token)),
  }
}
