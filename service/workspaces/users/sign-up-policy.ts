import type { Database } from '../../runtime/db/database.ts'
import { Refusal } from '../../runtime/http/refusal.ts'
import type { Settings } from '../../runtime/settings/settings.ts'
import { hasPendingInvitation } from './invitation-store.ts'
import { createIdentityProvider, type IdentityProvider } from './single-sign-on/client.ts'

/** Who may create an account, by a form or by a sign-in provider. */
export interface SignUpPolicy {
  /** `invited`: addresses that a workspace has invited. */
  mode: 'open' | 'invited' | 'closed'
  /** The only domains of new accounts, in lower case, without their subdomains. Empty: any. */
  domains: readonly string[]
}

export type SignUpSettings = Pick<Settings, 'signUp' | 'signUpDomains'>

export function readSignUpPolicy({ signUp, signUpDomains }: SignUpSettings): SignUpPolicy {
  return { mode: signUp, domains: signUpDomains }
}

const CLOSED_MESSAGE = 'Sign-up is closed. Ask the operator of this service for an account.'

/** Throws a 403 when sign-up is closed. */
export function requireOpenSignUp({ mode }: SignUpPolicy): void {
  if (mode === 'closed') throw new Refusal(403, CLOSED_MESSAGE)
}

/** Explains why an address may not sign up, or returns null. Says nothing about invitations. */
export function findDomainError(policy: SignUpPolicy, email: string): string | null {
  return isAllowedDomain(policy, email) ? null : describeDomains(policy)
}

/** What a user must know before signing up, if anything. */
export function describeSignUpPolicy(policy: SignUpPolicy): string | null {
  const sentences = [
    ...(policy.mode === 'invited' ? ['Use the address that a workspace has invited.'] : []),
    ...(policy.domains.length > 0 ? [describeDomains(policy)] : []),
  ]
  return sentences.length === 0 ? null : sentences.join(' ')
}

function describeDomains({ domains }: SignUpPolicy): string {
  const list = new Intl.ListFormat('en', { type: 'disjunction' })
  return `Use an address of ${list.format(domains)}.`
}

interface PolicyContext {
  database: Database
  now: () => Date
  signUp: SignUpPolicy
}

/** True when an account may be created for the address. */
export async function maySignUp(
  { database, now, signUp }: PolicyContext,
  email: string,
): Promise<boolean> {
  if (!isAllowedDomain(signUp, email)) return false
  switch (signUp.mode) {
    case 'open':
      return true
    case 'invited':
      return hasPendingInvitation(database, email, now())
    case 'closed':
      return false
  }
}

function isAllowedDomain({ domains }: SignUpPolicy, email: string): boolean {
  const domain = email.slice(email.lastIndexOf('@') + 1).toLowerCase()
  return domains.length === 0 || domains.includes(domain)
}

export const SOCIAL_PROVIDERS = ['google', 'github'] as const
export type SocialProvider = (typeof SOCIAL_PROVIDERS)[number]

/** The credentials of the operator at each provider that people may sign in with. */
export type SocialClients = Partial<
  Record<SocialProvider, { clientId: string; clientSecret: string }>
>

export type SocialSettings = Pick<
  Settings,
  'googleClientId' | 'googleClientSecret' | 'githubClientId' | 'githubClientSecret'
>

/** A provider without its ID and secret is left out. */
export function readSocialClients(settings: SocialSettings): SocialClients {
  const { googleClientId, googleClientSecret, githubClientId, githubClientSecret } = settings
  const clients: SocialClients = {}
  if (googleClientId && googleClientSecret) {
    clients.google = { clientId: googleClientId, clientSecret: googleClientSecret }
  }
  if (githubClientId && githubClientSecret) {
    clients.github = { clientId: githubClientId, clientSecret: githubClientSecret }
  }
  return clients
}

/** The OpenID provider of the company that runs the service. */
export interface SingleSignOn {
  /** Completes "Sign in with". */
  name: string
  /** The only domains of addresses that may sign in there, without their subdomains. */
  domains: readonly string[]
  provider: IdentityProvider
}

export type SingleSignOnSettings = Pick<
  Settings,
  'oidcIssuer' | 'oidcClientId' | 'oidcClientSecret' | 'oidcDomains' | 'oidcName'
>

export const SINGLE_SIGN_ON_PATH = '/sign-in/oidc'
export const SINGLE_SIGN_ON_CALLBACK = '/auth/callback/oidc'

/** Null without an issuer. The settings are checked at the start: all of them are set, or none. */
export function readSingleSignOn(
  settings: SingleSignOnSettings,
  { now, publicOrigin }: { now: () => Date; publicOrigin: () => string },
): SingleSignOn | null {
  const { oidcIssuer, oidcClientId, oidcClientSecret, oidcDomains, oidcName } = settings
  if (!oidcIssuer || !oidcClientId || !oidcClientSecret) return null
  const provider = createIdentityProvider({
    issuer: oidcIssuer,
    clientId: oidcClientId,
    clientSecret: oidcClientSecret,
    redirectUri: () => `${publicOrigin()}${SINGLE_SIGN_ON_CALLBACK}`,
    now,
  })
  return { name: oidcName, domains: oidcDomains, provider }
}
