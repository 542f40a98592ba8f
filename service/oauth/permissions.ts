import { BASE_PATH } from '@signalbox/contract/operations.ts'

/** What a token may be for. One token is for one of them and opens nothing of the other. */
export const AUDIENCES = ['mcp', 'agent'] as const
export type Audience = (typeof AUDIENCES)[number]

/** What an agent may do with the one ad account that it is bound to (spec: Authentication). */
const PERMISSIONS = ['ad-account.read', 'actions.propose'] as const
export type Permission = (typeof PERMISSIONS)[number]

interface Resource {
  /** Below the public origin; together they are the resource indicator (RFC 8707). */
  path: string
  /** The OAuth scope that opens it. */
  scope: string
  permissions: readonly Permission[]
  name: string
}

/** The two protected resources (decisions, section 10). */
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

/** A permission as the person reads it who is asked for it. */
export const PERMISSION_LABELS: Record<Permission, string> = {
  'ad-account.read': 'Read this ad account: its name, its figures and whether its signals arrive.',
  'actions.propose':
    'Propose changes of budgets, pausing and resuming. Proposals pass the rules of your ' +
    'workspace; nothing here changes a campaign by itself.',
}

/** The resource indicator of an audience. */
export function resourceUri(origin: string, audience: Audience): string {
  return origin + RESOURCES[audience].path
}

/** The audience that a resource indicator names, exactly as we publish it; null for any other. */
export function findAudienceByResource(origin: string, resource: string): Audience | null {
  return AUDIENCES.find(audience => resourceUri(origin, audience) === resource) ?? null
}

/** Where the metadata of a resource lies (RFC 9728, section 3.1). */
export function resourceMetadataPath(audience: Audience): string {
  return `/.well-known/oauth-protected-resource${RESOURCES[audience].path}`
}

/** The audience whose scope this is; null for a scope that we do not have. */
export function findAudienceByScope(scope: string): Audience | null {
  return AUDIENCES.find(audience => RESOURCES[audience].scope === scope) ?? null
}

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
export const TIER_LABELS: Record<Tier, string> = {
  read: 'Read: sees the ad account, changes nothing.',
  write: 'Write: also proposes changes, which pass the rules of the workspace.',
  admin: 'Admin: as Write, for those who look after the workspace.',
}

/** How long an execution token may work (spec: Limits). */
export const TOKEN_DAYS = [30, 90, 365] as const
