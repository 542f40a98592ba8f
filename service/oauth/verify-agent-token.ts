import { tokenDigest, tokenKind } from '../access/token-format.ts'
import type { Database } from '../db/database.ts'
import { bearerToken } from '../http/bearer.ts'
import { Refusal } from '../http/refusal.ts'
import { bearerChallenge } from './metadata.ts'
import {
  type Bound,
  type ConnectionPrincipal,
  findConnectionPrincipal,
  findTokenPrincipal,
} from './principal-store.ts'
import { digestOf } from './provider-adapter.ts'
import { type Audience, type Permission, resourceUri } from './resources.ts'
import { TIER_PERMISSIONS, type Tier } from './tiers.ts'

/** For whom a token speaks, and what it may do. The account never comes from anywhere else. */
export type AgentPrincipal = Bound & { permissions: readonly Permission[]; expiresAt: Date } & (
    | ({ kind: 'connection' } & Pick<
        ConnectionPrincipal,
        'connectionId' | 'connectionName' | 'clientName' | 'approvedAt'
      >)
    | { kind: 'execution_token'; tokenId: number; tokenName: string; tier: Tier }
  )

export interface PresentedToken {
  authorization: string | undefined
  audience: Audience
  /** The public origin. */
  origin: string
  now: Date
}

/**
 * Resolves `Authorization: Bearer` at one of the two resources, by one statement that looks at the
 * token, its connection or issuer, the person, the workspace and the ad account as they are now.
 * Execution tokens open MCP; an OAuth token opens the resource that it was made for. Everything
 * else gets the same 401, whose challenge leads to the metadata (spec: Authentication, rules 1 and
 * 2).
 */
export async function verifyAgentToken(
  database: Database,
  { authorization, audience, origin, now }: PresentedToken,
): Promise<AgentPrincipal> {
  const token = bearerToken(authorization)
  const principal =
    token === null ? null : await principalOf(database, token, { audience, origin, now })
  if (principal) return principal
  throw new Refusal(401, 'Unauthenticated.', {
    headers: { 'www-authenticate': bearerChallenge(origin, audience) },
  })
}

/**
 * The same where execution tokens alone are let in (decisions, section 10). The challenge names no
 * metadata: OAuth leads to no such token, an owner issues it.
 */
export async function verifyExecutionToken(
  database: Database,
  { authorization, now }: Pick<PresentedToken, 'authorization' | 'now'>,
): Promise<AgentPrincipal> {
  const token = bearerToken(authorization)
  const isExecution = token !== null && tokenKind(token) === 'execution'
  const principal = isExecution ? await executionPrincipal(database, token, now) : null
  if (principal) return principal
  throw Refusal.unauthenticated()
}

type Place = Omit<PresentedToken, 'authorization'>

async function principalOf(
  database: Database,
  token: string,
  { audience, origin, now }: Place,
): Promise<AgentPrincipal | null> {
  const kind = tokenKind(token)
  if (kind === 'execution') {
    return audience === 'mcp' ? executionPrincipal(database, token, now) : null
  }
  if (kind !== null) return null
  const found = await findConnectionPrincipal(database, {
    digest: digestOf(token),
    resource: resourceUri(origin, audience),
    at: now,
  })
  return found && { kind: 'connection', ...found }
}

async function executionPrincipal(
  database: Database,
  token: string,
  now: Date,
): Promise<AgentPrincipal | null> {
  const found = await findTokenPrincipal(database, tokenDigest(token), now)
  if (!found) return null
  const tier = found.tier as Tier
  return { kind: 'execution_token', ...found, tier, permissions: TIER_PERMISSIONS[tier] }
}

/** 403 for who is known and lacks the permission (spec: OAuth errors). */
export function requirePermission(principal: AgentPrincipal, permission: Permission): void {
  if (principal.permissions.includes(permission)) return
  throw new Refusal(403, `This credential lacks the permission ${permission}.`)
}
