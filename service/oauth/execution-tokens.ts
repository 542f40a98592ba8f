import { generateToken, hashToken } from '../access/token-format.ts'
import type { AuditActor, AuditEntry } from '../audit/audit-entry.ts'
import type { Database } from '../db/database.ts'
import { type FieldErrors, Refusal } from '../http/refusal.ts'
import { requireRole } from '../people/workspaces.ts'
import { parseRowId } from '../util/row-id.ts'
import type { WorkspaceVisit } from './connections.ts'
import { parseDisplayName } from './display-name.ts'
import {
  insertExecutionToken,
  type ListedExecutionToken,
  listExecutionTokens,
  type NewExecutionToken,
  revokeExecutionToken,
} from './execution-token-store.ts'
import type { ChangeContext } from './oauth-context.ts'
import { TIERS, type Tier, TOKEN_DAYS } from './permissions.ts'

/** As it was sent; checked here. */
interface ExecutionTokenRequest {
  workspaceId: number
  /** The owner who answers for it. */
  issuedBy: number
  /** Who asks, where it is not that owner. */
  actor?: AuditActor
  adAccountId: unknown
  tier: unknown
  days: unknown
  name: unknown
  issuedAt: Date
}

interface IssuedExecutionToken {
  id: number
  /** The only time that it is seen: the store keeps a hash. */
  token: string
  expiresAt: Date
}

const TOKEN_NAME_CHARACTERS_MAX = 100
const DAY_MILLISECONDS = 86_400_000

/**
 * Issues a token for one active ad account of a workspace, and writes it down. Whoever calls has
 * made sure that an owner asks. Throws a Refusal with every wrong field.
 */
export async function issueExecutionToken(
  { database, audit }: Pick<ChangeContext, 'database' | 'audit'>,
  request: ExecutionTokenRequest,
): Promise<IssuedExecutionToken> {
  const { issuedAt, days } = request
  const errors = findInputErrors(request)
  if (Object.keys(errors).length > 0) throw Refusal.ofFields(errors)
  const token = generateToken('execution')
  const expiresAt = new Date(issuedAt.getTime() + (days as number) * DAY_MILLISECONDS)
  const newRow = toTokenRow(request, { token, expiresAt })
  return database.query.transaction().execute(async query => {
    const id = await insertExecutionToken({ query }, newRow)
    if (id === null) throw Refusal.ofFields({ ad_account_id: [INVALID_AD_ACCOUNT] })
    await audit.append({ query }, issuedAuditEntry(request, { id, expiresAt }))
    return { id, token, expiresAt }
  })
}

function toTokenRow(
  { workspaceId, issuedBy, issuedAt, tier, name, adAccountId }: ExecutionTokenRequest,
  { token, expiresAt }: Omit<IssuedExecutionToken, 'id'>,
): NewExecutionToken {
  return {
    workspaceId,
    adAccountId: adAccountId as number,
    digest: hashToken(token),
    tier: tier as Tier,
    name: parseDisplayName(name, TOKEN_NAME_CHARACTERS_MAX) ?? '',
    lastCharacters: token.slice(-4),
    issuedBy,
    createdAt: issuedAt,
    expiresAt,
  }
}

function issuedAuditEntry(
  { workspaceId, issuedBy, issuedAt, tier, adAccountId, actor }: ExecutionTokenRequest,
  { id, expiresAt }: Omit<IssuedExecutionToken, 'token'>,
): AuditEntry {
  return {
    workspaceId,
    at: issuedAt,
    actor: actor ?? { type: 'person', id: String(issuedBy) },
    action: 'execution_token.issued',
    subject: { type: 'execution_token', id: String(id) },
    details: {
      ad_account_id: adAccountId,
      tier,
      issued_by: issuedBy,
      expires_at: expiresAt.toISOString(),
    },
  }
}

const INVALID_AD_ACCOUNT = 'Choose an active ad account of this workspace.'

function findInputErrors({ adAccountId, tier, days, name }: ExecutionTokenRequest): FieldErrors {
  const errors: FieldErrors = {}
  if (parseDisplayName(name, TOKEN_NAME_CHARACTERS_MAX) === null) {
    errors.name = [`Give the token a name of 1 to ${TOKEN_NAME_CHARACTERS_MAX} characters.`]
  }
  if (!TIERS.some(known => known === tier)) errors.tier = ['Choose read, write or admin.']
  if (!TOKEN_DAYS.some(known => known === days)) errors.days = ['Choose 30, 90 or 365 days.']
  const isId = Number.isInteger(adAccountId) && Number(adAccountId) <= INTEGER_MAX
  if (!isId) errors.ad_account_id = [INVALID_AD_ACCOUNT]
  return errors
}

const INTEGER_MAX = 2_147_483_647

/** The execution tokens of a workspace, for its owners; never what was issued. */
export async function listWorkspaceTokens(
  database: Database,
  { person, workspaceId }: WorkspaceVisit,
): Promise<ListedExecutionToken[]> {
  const action = 'manage_agents'
  const membership = await requireRole(database, person, { workspaceId, action })
  return listExecutionTokens(database, membership.workspaceId)
}

type TokenInput = Pick<ExecutionTokenRequest, 'adAccountId' | 'tier' | 'days' | 'name'>

/** An owner issues a token. Throws a Refusal: 403, 404, or 422 with every wrong field. */
export async function issueWorkspaceToken(
  context: ChangeContext,
  { person, workspaceId }: WorkspaceVisit,
  wish: TokenInput,
): Promise<IssuedExecutionToken> {
  const action = 'manage_agents'
  const membership = await requireRole(context.database, person, { workspaceId, action })
  return issueExecutionToken(context, {
    ...wish,
    workspaceId: membership.workspaceId,
    issuedBy: person.userId,
    issuedAt: context.now(),
  })
}

/** An owner revokes a token, which stops at once. Throws a Refusal: 403 or 404. */
export async function revokeWorkspaceToken(
  context: ChangeContext,
  { person, workspaceId: given, tokenId }: WorkspaceVisit & { tokenId: unknown },
): Promise<void> {
  const action = 'manage_agents'
  const intent = { workspaceId: given, action } as const
  const { workspaceId } = await requireRole(context.database, person, intent)
  const token = { workspaceId, tokenId: parseRowId(tokenId) ?? 0 }
  const actor = { type: 'person', id: String(person.userId) } as const
  if (await revokeTokenWithAudit(context, { ...token, actor, at: context.now() })) return
  throw Refusal.notFound('There is no such live token in this workspace.')
}

interface TokenRevocation {
  workspaceId: number
  tokenId: number
  actor: AuditActor
  at: Date
}

/**
 * Revokes an execution token of a workspace, and writes it down. False when there is no such live
 * one. Whoever calls has made sure that the actor may.
 */
export async function revokeTokenWithAudit(
  { database, audit }: Pick<ChangeContext, 'database' | 'audit'>,
  { workspaceId, tokenId, actor, at }: TokenRevocation,
): Promise<boolean> {
  return database.query.transaction().execute(async query => {
    const isRevoked = await revokeExecutionToken({ query }, { workspaceId, tokenId }, at)
    if (!isRevoked) return false
    const action = 'execution_token.revoked'
    const subject = { type: 'execution_token', id: String(tokenId) } as const
    await audit.append({ query }, { workspaceId, at, actor, action, subject, details: {} })
    return true
  })
}
