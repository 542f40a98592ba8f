/** What an agent can be allowed to do with its ad account. */
export const PERMISSIONS = ['ad-account.read', 'actions.propose'] as const
export type Permission = (typeof PERMISSIONS)[number]

/** Shown on the page that asks for consent, and beside each connection. */
export const PERMISSION_LABELS: Record<Permission, string> = {
  'ad-account.read': 'Read this ad account: its name, its figures and whether its signals arrive.',
  'actions.propose':
    'Propose budget changes, pausing and resuming. Proposals must pass the policy of your ' +
    'workspace; this permission alone changes no campaign.',
}

export const TIERS = ['read', 'write', 'admin'] as const
export type Tier = (typeof TIERS)[number]

/** Shown in the form that issues a token. */
export const TIER_LABELS: Record<Tier, string> = {
  read: 'Read: read the ad account.',
  write: 'Write: also propose changes, within the policy of the workspace.',
  admin: 'Admin: as Write, for administrators of the workspace.',
}

/** The lifetimes that an owner can choose for an execution token. */
export const TOKEN_DAYS = [30, 90, 365] as const
export type TokenDays = (typeof TOKEN_DAYS)[number]
