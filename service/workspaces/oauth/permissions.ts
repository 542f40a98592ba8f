import { BASE_PATH } from '@signalbox/contract/operations.ts'
import type { Permission, Tier } from '@signalbox/contract/session/agent-permissions.ts'

/** A token opens one of these resources and not the other. */
export const AUDIENCES = ['mcp', 'agent'] as const
export type Audience = (typeof AUDIENCES)[number]

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

/** Proposals of all tiers are subject to the policy of the workspace. */
export const TIER_PERMISSIONS: Record<Tier, readonly Permission[]> = {
  read: ['ad-account.read'],
  write: ['ad-account.read', 'actions.propose'],
  admin: ['ad-account.read', 'actions.propose'],
}
