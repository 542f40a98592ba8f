import type { AuditActor } from '../agents/audit/audit-entry.ts'
import { revokeExecutionToken } from './execution-token-store.ts'
import type { ChangeContext } from './oauth-context.ts'

export interface TokenEnding {
  workspaceId: number
  tokenId: number
  actor: AuditActor
  at: Date
}

/**
 * Revokes an execution token of a workspace, and writes it down. False when there is no such live
 * one. Whoever calls has made sure that the actor may.
 */
export async function endIssuedToken(
  { database, audit }: Pick<ChangeContext, 'database' | 'audit'>,
  { workspaceId, tokenId, actor, at }: TokenEnding,
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
