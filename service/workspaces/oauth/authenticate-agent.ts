import type { Permission, Tier } from '@signalbox/contract/session/agent-permissions.ts'
import type { Database } from '../../runtime/db/database.ts'
import { readBearerToken } from '../../runtime/http/headers.ts'
import { Refusal } from '../../runtime/http/refusal.ts'
import { hashToken, parseTokenKind } from '../../runtime/util/token-format.ts'
import { bearerChallenge } from './metadata.ts'
import type { OauthContext } from './oauth-responses.ts'
import { type Audience, resourceUri, TIER_PERMISSIONS } from './permissions.ts'
import {
  type ConnectionPrincipal,
  findConnectionPrincipal,
  findExecutionTokenPrincipal,
  recordLastUse,
  type TokenBinding,
} from './principal-store.ts'
import { artifactDigest } from './provider-adapter.ts'

/** Who a token acts for, and what it may do. The ad account always comes from the token. */
export type AgentPrincipal = TokenBinding & {
  permissions: readonly Permission[]
  expiresAt: Date
} & (
    | ({ kind: 'connection' } & Pick<
        ConnectionPrincipal,
        'connectionId' | 'connectionName' | 'clientName' | 'approvedAt'
      >)
    | { kind: 'execution_token'; tokenId: number; tokenName: string; tier: Tier }
  )

interface PresentedToken {
  authorization: string | undefined
  audience: Audience
  /** The public origin. */
  origin: string
  now: Date
}

/**
 * Resolves `Authorization: Bearer` at one of the two resources. One statement checks the current
 * state of the token, its connection or issuer, the user, the workspace and the ad account.
 * Execution tokens open MCP; an OAuth token opens the resource that it was issued for. Everything
 * else gets the same 401, whose challenge names the metadata and the scope.
 */
export async function verifyAgentToken(
  database: Database,
  { authorization, audience, origin, now }: PresentedToken,
): Promise<AgentPrincipal> {
  const token = readBearerToken(authorization)
  const principal =
    token === null ? null : await findPrincipal(database, token, { audience, origin, now })
  if (principal) return principal
  const challenge = bearerChallenge(origin, audience, { hasToken: authorization !== undefined })
  throw new Refusal(401, 'Unauthenticated.', { headers: { 'www-authenticate': challenge } })
}

/**
 * Accepts execution tokens only. The challenge names no metadata, because an owner issues these
 * tokens, not OAuth.
 */
async function verifyExecutionToken(
  database: Database,
  { authorization, now }: Pick<PresentedToken, 'authorization' | 'now'>,
): Promise<AgentPrincipal> {
  const token = readBearerToken(authorization)
  const isExecution = token !== null && parseTokenKind(token) === 'execution'
  const principal = isExecution ? await findExecutionPrincipal(database, token, now) : null
  if (principal) return principal
  throw Refusal.unauthenticated()
}

type TokenAudience = Omit<PresentedToken, 'authorization'>

async function findPrincipal(
  database: Database,
  token: string,
  { audience, origin, now }: TokenAudience,
): Promise<AgentPrincipal | null> {
  const kind = parseTokenKind(token)
  if (kind === 'execution') {
    return audience === 'mcp' ? findExecutionPrincipal(database, token, now) : null
  }
  if (kind !== null) return null
  const found = await findConnectionPrincipal(database, {
    digest: artifactDigest(token),
    resource: resourceUri(origin, audience),
    at: now,
  })
  return found && { kind: 'connection', ...found }
}

async function findExecutionPrincipal(
  database: Database,
  token: string,
  now: Date,
): Promise<AgentPrincipal | null> {
  const found = await findExecutionTokenPrincipal(database, hashToken(token), now)
  if (!found) return null
  const tier = found.tier as Tier
  return { kind: 'execution_token', ...found, tier, permissions: TIER_PERMISSIONS[tier] }
}

/** Throws a 403 when the token is valid but lacks the permission. */
export function requirePermission(principal: AgentPrincipal, permission: Permission): void {
  if (principal.permissions.includes(permission)) return
  throw new Refusal(
    403,
    `This credential lacks the permission ${permission}. ${MISSING_PERMISSION[principal.kind]}`,
  )
}

const MISSING_PERMISSION: Record<AgentPrincipal['kind'], string> = {
  connection: 'Ask an owner of the workspace to approve the agent again with it.',
  execution_token: 'Ask an owner of the workspace for a token of the tier Write or Admin.',
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Who the token acts for, on agent routes. */
    agent: AgentPrincipal
  }
}

interface AgentRequest {
  headers: { authorization?: string | undefined; origin?: string | undefined }
  agent: AgentPrincipal
}

type GuardContext = Pick<OauthContext, 'database' | 'now' | 'publicOrigin' | 'onTouchError'>

/**
 * Creates the hook that requires an agent token before the body is read. Recording the last use
 * does not delay the request.
 */
export function requireAgentToken(context: GuardContext, audience: Audience) {
  const { database, now, publicOrigin, onTouchError } = context
  return async (request: AgentRequest) => {
    const { authorization } = request.headers
    const at = now()
    const resource = { audience, origin: publicOrigin(), now: at }
    request.agent = await verifyAgentToken(database, { authorization, ...resource })
    recordLastUse(database, request.agent, at).catch(onTouchError)
  }
}

/** As `requireAgentToken`, for execution tokens only, which must not be used in a browser. */
export function requireExecutionToken(context: Omit<GuardContext, 'publicOrigin'>) {
  const { database, now, onTouchError } = context
  return async (request: AgentRequest) => {
    const { authorization, origin } = request.headers
    const at = now()
    request.agent = await verifyExecutionToken(database, { authorization, now: at })
    if (origin !== undefined) throw new Refusal(403, TOKEN_IN_BROWSER)
    recordLastUse(database, request.agent, at).catch(onTouchError)
  }
}

const TOKEN_IN_BROWSER =
  'This execution token came from a browser (Origin header), where anyone can read it: revoke ' +
  'it, and ask from your server.'
