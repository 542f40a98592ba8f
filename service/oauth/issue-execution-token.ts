import { newToken, tokenDigest } from '../access/token-format.ts'
import type { AuditActor, AuditEntry } from '../agents/audit/audit-entry.ts'
import { type FieldErrors, Refusal } from '../http/refusal.ts'
import { insertExecutionToken, type NewExecutionToken } from './execution-token-store.ts'
import type { ChangeContext } from './oauth-context.ts'
import { TIERS, type Tier, TOKEN_DAYS } from './tiers.ts'
import { visibleLine } from './visible-line.ts'

/** As it was sent; checked here. */
export interface ExecutionTokenRequest {
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

export interface IssuedExecutionToken {
  id: number
  /** The only time that it is seen: the store keeps a hash. */
  token: string
  expiresAt: Date
}

export const TOKEN_NAME_CHARACTERS_MAX = 100
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
  const errors = faultsOf(request)
  if (Object.keys(errors).length > 0) throw Refusal.ofFields(errors)
  const token = newToken('execution')
  const expiresAt = new Date(issuedAt.getTime() + (days as number) * DAY_MILLISECONDS)
  const newRow = rowOf(request, { token, expiresAt })
  return database.query.transaction().execute(async query => {
    const id = await insertExecutionToken({ query }, newRow)
    if (id === null) throw Refusal.ofFields({ ad_account_id: [NO_ACCOUNT] })
    await audit.append({ query }, entryOf(request, { id, expiresAt }))
    return { id, token, expiresAt }
  })
}

function rowOf(
  { workspaceId, issuedBy, issuedAt, tier, name, adAccountId }: ExecutionTokenRequest,
  { token, expiresAt }: Omit<IssuedExecutionToken, 'id'>,
): NewExecutionToken {
  return {
    workspaceId,
    adAccountId: adAccountId as number,
    digest: tokenDigest(token),
    tier: tier as Tier,
    name: visibleLine(name, TOKEN_NAME_CHARACTERS_MAX) ?? '',
    lastCharacters: token.slice(-4),
    issuedBy,
    createdAt: issuedAt,
    expiresAt,
  }
}

function entryOf(
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

const NO_ACCOUNT = 'Choose an active ad account of this workspace.'

function faultsOf({ adAccountId, tier, days, name }: ExecutionTokenRequest): FieldErrors {
  const errors: FieldErrors = {}
  if (visibleLine(name, TOKEN_NAME_CHARACTERS_MAX) === null) {
    errors.name = [`Give the token a name of 1 to ${TOKEN_NAME_CHARACTERS_MAX} characters.`]
  }
  if (!TIERS.some(known => known === tier)) errors.tier = ['Choose read, write or admin.']
  if (!TOKEN_DAYS.some(known => known === days)) errors.days = ['Choose 30, 90 or 365 days.']
  const isId = Number.isInteger(adAccountId) && Number(adAccountId) <= INTEGER_MAX
  if (!isId) errors.ad_account_id = [NO_ACCOUNT]
  return errors
}

const INTEGER_MAX = 2_147_483_647
