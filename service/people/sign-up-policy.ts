import type { Database } from '../db/database.ts'
import { Refusal } from '../http/refusal.ts'
import { hasPendingInvitation } from './invitation-store.ts'

/** Who may create an account, by a form or by a sign-in provider. */
export interface SignUpPolicy {
  /** `invited`: addresses that a workspace has invited. */
  mode: 'open' | 'invited' | 'closed'
  /** The only domains of new accounts, in lower case, without their subdomains. Empty: any. */
  domains: readonly string[]
}

export const CLOSED_MESSAGE = 'Sign-up is closed. Ask the operator of this service for an account.'

/** Throws a 403 when sign-up is closed. */
export function requireOpenSignUp({ mode }: SignUpPolicy): void {
  if (mode === 'closed') throw new Refusal(403, CLOSED_MESSAGE)
}

/** Explains why an address may not sign up, or returns null. Says nothing about invitations. */
export function findDomainError(policy: SignUpPolicy, email: string): string | null {
  if (isAllowedDomain(policy, email)) return null
  const domains = new Intl.ListFormat('en', { type: 'disjunction' }).format(policy.domains)
  return `Use an address of ${domains}.`
}

interface PolicyContext {
  database: Database
  now: () => Date
  signUp: SignUpPolicy
}

/** True when an account may be created for the address. */
export async function mayCreateAccount(
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
