import { newToken, tokenDigest } from '../access/token-format.ts'
import type { Database } from '../db/database.ts'
import { type FieldErrors, Refusal } from '../http/refusal.ts'
import { insertExecutionToken } from './execution-token-store.ts'
import { TIERS, type Tier, TOKEN_DAYS } from './tiers.ts'
import { visibleLine } from './visible-line.ts'

/** As it was sent; checked here. */
export interface ExecutionTokenRequest {
  workspaceId: number
  issuedBy: number
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
 * Issues a token for one active ad account of a workspace. Whoever calls has made sure that an
 * owner asks. Throws a Refusal with every wrong field.
 */
export async function issueExecutionToken(
  database: Database,
  request: ExecutionTokenRequest,
): Promise<IssuedExecutionToken> {
  const { workspaceId, issuedBy, issuedAt, tier, days, name, adAccountId } = request
  const errors = faultsOf(request)
  if (Object.keys(errors).length > 0) throw Refusal.ofFields(errors)
  const token = newToken('execution')
  const expiresAt = new Date(issuedAt.getTime() + (days as number) * DAY_MILLISECONDS)
  const id = await insertExecutionToken(database, {
    workspaceId,
    adAccountId: adAccountId as number,
    digest: tokenDigest(token),
    tier: tier as Tier,
    name: visibleLine(name, TOKEN_NAME_CHARACTERS_MAX) ?? '',
    lastCharacters: token.slice(-4),
    issuedBy,
    createdAt: issuedAt,
    expiresAt,
  })
  if (id === null) throw Refusal.ofFields({ ad_account_id: [NO_ACCOUNT] })
  return { id, token, expiresAt }
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
