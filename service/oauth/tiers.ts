import type { Permission } from './resources.ts'

/** What an execution token may do (decisions, section 10). */
export const TIERS = ['read', 'write', 'admin'] as const
export type Tier = (typeof TIERS)[number]

/** Write and Admin submit proposals; neither passes the rules of the workspace by. */
export const TIER_PERMISSIONS: Record<Tier, readonly Permission[]> = {
  read: ['ad-account.read'],
  write: ['ad-account.read', 'actions.propose'],
  admin: ['ad-account.read', 'actions.propose'],
}

/** A tier as the owner reads it who issues a token. */
export const TIER_WORDS: Record<Tier, string> = {
  read: 'Read: sees the ad account, changes nothing.',
  write: 'Write: also proposes changes, which pass the rules of the workspace.',
  admin: 'Admin: as Write, for those who look after the workspace.',
}

/** How long an execution token may work (spec: Limits). */
export const TOKEN_DAYS = [30, 90, 365] as const
export type TokenDays = (typeof TOKEN_DAYS)[number]
