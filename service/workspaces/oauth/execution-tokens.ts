import type { AuditActor, AuditEntry } from '../../audit/audit-entry.ts'
import { type AuditedContext, commitAudited } from '../../audit/commit-audited.ts'
import { type FieldErrors, Refusal } from '../../runtime/http/refusal.ts'
import type { ListPage } from '../../runtime/util/list-page.ts'
import { parseRowId } from '../../runtime/util/row-id.ts'
import { DAY_MILLISECONDS } from '../../runtime/util/time.ts'
import { generateToken, hashToken } from '../../runtime/util/token-format.ts'
import { parseDisplayName } from '../users/display-name.ts'
import { requireRecentAuthentication } from '../users/reauthentication.ts'
import { type ChangeContext, requireAgentManager, type WorkspaceVisit } from './connections.ts'
import {
  insertExecutionToken,
  type ListedExecutionToken,
  listExecutionTokens,
  type NewExecutionToken,
  revokeExecutionToken,
} from './execution-token-store.ts'
import { TIERS, type Tier, TOKEN_DAYS } from './permissions.ts'

/** Not validated. */
interface ExecutionTokenRequest {
  workspaceId: number
  /** The owner who is responsible for the token. */
  issuedBy: number
  /** By default, that owner. */
  actor?: AuditActor
  adAccountId: unknown
  tier: unknown
  days: unknown
  name: unknown
  issuedAt: Date
}

interface IssuedExecutionToken {
  id: number
  /** Shown once: the store keeps a hash. */
  token: string
  expiresAt: Date
}

const TOKEN_NAME_CHARACTERS_MAX = 100

/**
 * Issues a token for one active ad account of a workspace, with an audit entry. The caller must
 * have authorized it. Throws a Refusal naming every invalid field.
 */
export async function issueExecutionToken(
  context: AuditedContext,
  request: ExecutionTokenRequest,
): Promise<IssuedExecutionToken> {
  const { issuedAt, days } = request
  const errors = findInputErrors(request)
  if (Object.keys(errors).length > 0) throw Refusal.ofFields(errors)
  const token = generateToken('execution')
  const expiresAt = new Date(issuedAt.getTime() + (days as number) * DAY_MILLISECONDS)
  const newRow = toTokenRow(request, { token, expiresAt })
  return commitAudited(context, async (transaction, record) => {
    const id = await insertExecutionToken(transaction, newRow)
    if (id === null) throw Refusal.ofFields({ ad_account_id: [INVALID_AD_ACCOUNT] })
    record(issuedAuditEntry(request, { id, expiresAt, lastCharacters: newRow.lastCharacters }))
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

type IssuedRow = Omit<IssuedExecutionToken, 'token'> & Pick<NewExecutionToken, 'lastCharacters'>

function issuedAuditEntry(
  { workspaceId, issuedBy, issuedAt, tier, adAccountId, actor }: ExecutionTokenRequest,
  { id, expiresAt, lastCharacters }: IssuedRow,
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
      last_characters: lastCharacters,
      expires_at: expiresAt.toISOString(),
    },
  }
}

const INVALID_AD_ACCOUNT = 'Choose an active ad account of this workspace.'

function findInputErrors({ adAccountId, tier, days, name }: ExecutionTokenRequest): FieldErrors {
  const errors: FieldErrors = {}
  if (parseDisplayName(name, TOKEN_NAME_CHARACTERS_MAX) === null) {
    errors.name = [`Enter a name of 1 to ${TOKEN_NAME_CHARACTERS_MAX} characters.`]
  }
  if (!TIERS.some(allowed => allowed === tier)) errors.tier = ['Choose read, write or admin.']
  if (!TOKEN_DAYS.some(allowed => allowed === days)) errors.days = ['Choose 30, 90 or 365 days.']
  const isId = Number.isInteger(adAccountId) && Number(adAccountId) <= INTEGER_MAX
  if (!isId) errors.ad_account_id = [INVALID_AD_ACCOUNT]
  return errors
}

const INTEGER_MAX = 2_147_483_647

/** A page of the execution tokens of a workspace, for its owners. */
export async function listWorkspaceTokens(
  { database, now }: Pick<ChangeContext, 'database' | 'now'>,
  visit: WorkspaceVisit,
  page: number,
): Promise<ListPage<ListedExecutionToken>> {
  const { workspaceId } = await requireAgentManager(database, visit)
  return listExecutionTokens(database, { workspaceId, at: now(), page })
}

type TokenInput = Pick<ExecutionTokenRequest, 'adAccountId' | 'tier' | 'days' | 'name'>

/**
 * Issues a token for an owner who confirmed their identity recently. Throws a Refusal: 403, 404, or
 * 422 naming every invalid field.
 */
export async function issueWorkspaceToken(
  context: ChangeContext,
  visit: WorkspaceVisit,
  input: TokenInput,
): Promise<IssuedExecutionToken> {
  const { workspaceId } = await requireAgentManager(context.database, visit)
  requireRecentAuthentication(visit.user, context.now())
  return issueExecutionToken(context, {
    ...input,
    workspaceId,
    issuedBy: visit.user.userId,
    issuedAt: context.now(),
  })
}

/** Revokes a token for an owner, effective immediately. Throws a Refusal: 403 or 404. */
export async function revokeWorkspaceToken(
  context: ChangeContext,
  visit: WorkspaceVisit & { tokenId: unknown },
): Promise<void> {
  const { workspaceId } = await requireAgentManager(context.database, visit)
  const isRevoked = await revokeTokenWithAudit(context, {
    workspaceId,
    tokenId: parseRowId(visit.tokenId) ?? 0,
    actor: { type: 'person', id: String(visit.user.userId) },
    at: context.now(),
  })
  if (!isRevoked) throw Refusal.notFound('Active token not found in this workspace.')
}

interface TokenRevocation {
  workspaceId: number
  tokenId: number
  actor: AuditActor
  at: Date
}

/**
 * Revokes an execution token, with an audit entry. Returns false when the workspace has no such
 * live token. The caller must have authorized it.
 */
export async function revokeTokenWithAudit(
  context: AuditedContext,
  { workspaceId, tokenId, actor, at }: TokenRevocation,
): Promise<boolean> {
  return commitAudited(context, async (transaction, record) => {
    const isRevoked = await revokeExecutionToken(transaction, { workspaceId, tokenId }, at)
    if (!isRevoked) return false
    record({
      workspaceId,
      at,
      actor,
      action: 'execution_token.revoked',
      subject: { type: 'execution_token', id: String(tokenId) },
      details: {},
    })
    return true
  })
}
