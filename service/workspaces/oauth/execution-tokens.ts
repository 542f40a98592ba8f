import type { Tier, TokenDays } from '@signalbox/contract/session/agent-permissions.ts'
import { ExecutionTokenSubmission } from '@signalbox/contract/session/agents.ts'
import type { AuditActor, AuditEntry } from '../../audit/audit-entry.ts'
import { type AuditedContext, commitAudited } from '../../audit/audit-store.ts'
import type { Transaction } from '../../runtime/db/database.ts'
import { Refusal } from '../../runtime/http/refusal.ts'
import { Validator } from '../../runtime/http/validator.ts'
import { parseRowId } from '../../runtime/util/ids.ts'
import type { ListPage } from '../../runtime/util/list-page.ts'
import { DAY_MILLISECONDS } from '../../runtime/util/time.ts'
import { generateToken, hashToken } from '../../runtime/util/token-format.ts'
import { requireRecentAuthentication } from '../users/reauthentication.ts'
import type { RoleLossListener } from '../users/role-loss.ts'
import { parseDisplayName } from '../users/user-input.ts'
import { userActor } from '../users/workspaces.ts'
import { findConnectionsOfUser, revokeConnection } from './connection-store.ts'
import { type ChangeContext, requireAgentManager, type WorkspaceVisit } from './connections.ts'
import {
  findTokensOfUser,
  insertExecutionToken,
  type ListedExecutionToken,
  listExecutionTokens,
  type NewExecutionToken,
  revokeExecutionToken,
} from './execution-token-store.ts'

interface ExecutionTokenRequest {
  workspaceId: number
  /** The owner who is responsible for the token. */
  issuedBy: number
  /** By default, that owner. */
  actor?: AuditActor
  adAccountId: number
  tier: Tier
  days: TokenDays
  /** As `parseDisplayName` returns it. */
  name: string
  issuedAt: Date
}

interface IssuedExecutionToken {
  id: number
  /** Shown once: the store keeps a hash. */
  token: string
  expiresAt: Date
}

/**
 * Issues a token for one active ad account of a workspace, with an audit entry. The caller must
 * have authorized it. Throws a 422 refusal for another ad account.
 */
export async function issueExecutionToken(
  context: AuditedContext,
  request: ExecutionTokenRequest,
): Promise<IssuedExecutionToken> {
  const { issuedAt, days } = request
  const token = generateToken('execution')
  const expiresAt = new Date(issuedAt.getTime() + days * DAY_MILLISECONDS)
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
    adAccountId,
    digest: hashToken(token),
    tier,
    name,
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
    actor: actor ?? userActor({ userId: issuedBy }),
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

/** A page of the execution tokens of a workspace, for its owners. */
export async function listWorkspaceTokens(
  { database, now }: Pick<ChangeContext, 'database' | 'now'>,
  visit: WorkspaceVisit,
  page: number,
): Promise<ListPage<ListedExecutionToken>> {
  const { workspaceId } = await requireAgentManager(database, visit)
  return listExecutionTokens(database, { workspaceId, at: now(), page })
}

const TOKEN_NAME_CHARACTERS_MAX = 100

const tokenValidator = new Validator(ExecutionTokenSubmission, {
  members: {
    name: {
      error: `Enter a name of 1 to ${TOKEN_NAME_CHARACTERS_MAX} characters.`,
      parse: name => parseDisplayName(name, TOKEN_NAME_CHARACTERS_MAX),
    },
    tier: { error: 'Choose read, write or admin.' },
    days: { error: 'Choose 30, 90 or 365 days.' },
    ad_account_id: { error: INVALID_AD_ACCOUNT },
  },
})

/**
 * Issues a token for an owner who confirmed their identity recently. Throws a Refusal: 403, 404, or
 * 422 naming every invalid field.
 */
export async function issueWorkspaceToken(
  context: ChangeContext,
  visit: WorkspaceVisit,
  body: unknown,
): Promise<IssuedExecutionToken> {
  const { workspaceId } = await requireAgentManager(context.database, visit)
  requireRecentAuthentication(visit.user, context.now())
  const { name, tier, days, ad_account_id: adAccountId } = tokenValidator.validate(body)
  return issueExecutionToken(context, {
    workspaceId,
    adAccountId,
    name,
    tier,
    days,
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
    actor: userActor(visit.user),
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
  return commitAudited(context, (transaction, record) =>
    revokeToken(transaction, { workspaceId, tokenId, actor, at, details: {}, record }),
  )
}

/** A revocation in a transaction, with its audit entry. */
interface RecordedRevocation extends Pick<AuditEntry, 'workspaceId' | 'actor' | 'at' | 'details'> {
  record: (entry: AuditEntry) => void
}

async function revokeToken(
  transaction: Transaction,
  { tokenId, record, ...entry }: RecordedRevocation & { tokenId: number },
): Promise<boolean> {
  const { workspaceId, at } = entry
  if (!(await revokeExecutionToken(transaction, { workspaceId, tokenId }, at))) return false
  const subject = { type: 'execution_token', id: String(tokenId) } as const
  record({ ...entry, action: 'execution_token.revoked', subject })
  return true
}

async function revokeAgent(
  transaction: Transaction,
  { connectionId, record, ...entry }: RecordedRevocation & { connectionId: number },
): Promise<void> {
  const { workspaceId, at } = entry
  if (!(await revokeConnection(transaction, { workspaceId, connectionId }, at))) return
  const subject = { type: 'connection', id: String(connectionId) } as const
  record({ ...entry, action: 'connection.revoked', subject })
}

/**
 * Revokes for good what a person who left a workspace or was removed had approved there: it would
 * work again if the person ever became an owner again. A person who was only demoted keeps it.
 */
export const revokeCredentialsOfFormerMember: RoleLossListener = async (transaction, loss) => {
  const { workspaceId, userId, actor, at, reason, record } = loss
  if (reason !== 'inviter_left' && reason !== 'inviter_removed') return
  const entry = { workspaceId, actor, at, details: { reason: 'member_removed' }, record }
  const isOfWorkspace = (other: { workspaceId: number }) => other.workspaceId === workspaceId
  const connections = await findConnectionsOfUser(transaction, userId)
  for (const { connectionId } of connections.filter(isOfWorkspace)) {
    await revokeAgent(transaction, { ...entry, connectionId })
  }
  const tokens = await findTokensOfUser(transaction, userId)
  for (const { tokenId } of tokens.filter(isOfWorkspace)) {
    await revokeToken(transaction, { ...entry, tokenId })
  }
}

const OPERATOR = { type: 'operator', id: null } as const

/**
 * Revokes the connections and execution tokens of a user whom the operator disables, each with an
 * entry in the log of its workspace. They stop working with the user anyway; this keeps them from
 * working again when the user is enabled. Safe to repeat after an interruption.
 */
export async function revokeCredentialsOfUser(
  context: ChangeContext,
  userId: number,
): Promise<void> {
  const { database, now } = context
  for (const connection of await findConnectionsOfUser(database, userId)) {
    const entry = { actor: OPERATOR, at: now(), details: { reason: 'person_disabled' } }
    await commitAudited(context, (transaction, record) =>
      revokeAgent(transaction, { ...connection, ...entry, record }),
    )
  }
  for (const token of await findTokensOfUser(database, userId)) {
    await revokeTokenWithAudit(context, { ...token, actor: OPERATOR, at: now() })
  }
}
