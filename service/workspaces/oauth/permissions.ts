import { BASE_PATH } from '@signalbox/contract/operations.ts'

/** A token opens one of these resources and not the other. */
export const AUDIENCES = ['mcp', 'agent'] as const
export type Audience = (typeof AUDIENCES)[number]

/** What an agent may do with the ad account that it is bound to. */
const PERMISSIONS = ['ad-account.read', 'actions.propose'] as const
export type Permission = (typeof PERMISSIONS)[number]

/** Whatever its use: a connection that works forever would never be looked at again. */
export const APPROVAL_DAYS = 90

interface Resource {
  /** Follows the public origin in the resource indicator (RFC 8707). */
  path: string
  /** The OAuth scope that opens it. */
  scope: string
  permissions: readonly Permission[]
  name: string
}

export const RESOURCES: Record<Audience, Resource> = {
  mcp: {
    path: '/mcp',
    scope: 'mcp:use',
    permissions: ['ad-account.read', 'actions.propose'],
    name: 'Signalbox MCP server',
  },
  agent: {
    path: `${BASE_PATH}/agent`,
    scope: 'ad-account.read',
    permissions: ['ad-account.read'],
    name: 'Signalbox account discovery',
  },
}

/** Shown on the consent page. */
export const PERMISSION_LABELS: Record<Permission, string> = {
  'ad-account.read': 'Read this ad account: its name, its figures and whether its signals arrive.',
  'actions.propose':
    'Propose budget changes, pausing and resuming. Proposals must pass the policy of your ' +
    'workspace; this permission alone changes no campaign.',
}

/** The resource indicator of an audience. */
export function resourceUri(origin: string, audience: Audience): string {
  return origin + RESOURCES[audience].path
}

/** Matches a resource indicator exactly as published; null for any other. */
export function findAudienceByResource(origin: string, resource: string): Audience | null {
  return AUDIENCES.find(audience => resourceUri(origin, audience) === resource) ?? null
}

/** The path of the metadata of a resource (RFC 9728, section 3.1). */
export function resourceMetadataPath(audience: Audience): string {
  return `/.well-known/oauth-protected-resource${RESOURCES[audience].path}`
}

/** The audience of a scope; null for an unknown one. */
export function findAudienceByScope(scope: string): Audience | null {
  return AUDIENCES.find(audience => RESOURCES[audience].scope === scope) ?? null
}

export const TIERS = ['read', 'write', 'admin'] as const
export type Tier = (typeof TIERS)[number]

/** Proposals of all tiers are subject to the policy of the workspace. */
export const TIER_PERMISSIONS: Record<Tier, readonly Permission[]> = {
  read: ['ad-account.read'],
  write: ['ad-account.read', 'actions.propose'],
  admin: ['ad-account.read', 'actions.propose'],
}

/** Shown in the form that issues a token. */
export const TIER_LABELS: Record<Tier, string> = {
  read: 'Read: read the ad account.',
  write: 'Write: also propose changes, within the policy of the workspace.',
  admin: 'Admin: as Write, for administrators of the workspace.',
}

/** The lifetimes that an owner can choose for an execution token. */
export const TOKEN_DAYS = [30, 90, 365] as const
export type TokenDays = (typeof TOKEN_DAYS)[number]
