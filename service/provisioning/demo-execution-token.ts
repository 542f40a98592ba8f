import { tokenDigest } from '../access/token-format.ts'
import type { AuditTrail } from '../agents/audit/audit-trail.ts'
import type { Database } from '../db/database.ts'
import { endIssuedToken } from '../oauth/end-issued-token.ts'
import { listExecutionTokens } from '../oauth/execution-token-store.ts'
import { issueExecutionToken } from '../oauth/issue-execution-token.ts'
import { findTokenPrincipal } from '../oauth/principal-store.ts'
import { findOwnedAdAccounts } from '../people/ad-account-store.ts'
import { findPerson } from '../people/person-store.ts'

/** By this name the token of the file is known among those that people issue. */
export const DEMO_TOKEN_NAME = 'credentials.json'

export interface DemoTokenRequest {
  workspaceId: number
  adAccountId: number
  /** Who answers for it; null where the demo's owner is gone. */
  ownerEmail: string | null
  at: Date
}

interface Scope {
  database: Database
  audit: AuditTrail
}

/** Who starts the program makes its files. */
const OPERATOR = { type: 'operator', id: null } as const

/**
 * The execution token of the demo's file (decisions, section 10): the one that it holds, as long
 * as that one opens the ad account, else a new one for 30 days. Null where nobody could have issued
 * it: there is no owner, or they, the workspace or the ad account are disabled.
 */
export async function demoExecutionToken(
  scope: Scope,
  request: DemoTokenRequest,
  found: string | null | undefined,
): Promise<string | null> {
  const { database } = scope
  const { workspaceId, adAccountId, ownerEmail, at } = request
  const owner = ownerEmail === null ? null : await findPerson(database, ownerEmail)
  if (!owner) return null
  if (typeof found === 'string') {
    const bound = await findTokenPrincipal(database, tokenDigest(found), at)
    if (bound?.adAccountId === adAccountId) return found
  }
  const choices = await findOwnedAdAccounts(database, owner.userId)
  if (!choices.some(choice => choice.adAccountId === adAccountId)) return null
  await revokeLost(scope, request)
  const { token } = await issueExecutionToken(scope, {
    ...{ workspaceId, adAccountId, issuedBy: owner.userId, issuedAt: at, actor: OPERATOR },
    ...{ tier: 'write', days: 30, name: DEMO_TOKEN_NAME },
  })
  return token
}

/** What the file held before is nowhere but in a lost file, and whoever has that may not use it. */
async function revokeLost(scope: Scope, { workspaceId, at }: DemoTokenRequest): Promise<void> {
  for (const token of await listExecutionTokens(scope.database, workspaceId)) {
    const { id: tokenId, name, revoked_at, expires_at } = token
    if (name !== DEMO_TOKEN_NAME || revoked_at !== null || expires_at <= at) continue
    await endIssuedToken(scope, { workspaceId, tokenId, actor: OPERATOR, at })
  }
}
