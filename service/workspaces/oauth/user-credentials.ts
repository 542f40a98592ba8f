import { commitAudited } from '../../audit/commit-audited.ts'
import { findConnectionsOfUser, revokeConnection } from './connection-store.ts'
import type { ChangeContext } from './connections.ts'
import { findTokensOfUser } from './execution-token-store.ts'
import { revokeTokenWithAudit } from './execution-tokens.ts'

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
    await commitAudited(context, async (transaction, record) => {
      if (!(await revokeConnection(transaction, connection, now()))) return
      record({
        workspaceId: connection.workspaceId,
        at: now(),
        actor: OPERATOR,
        action: 'connection.revoked',
        subject: { type: 'connection', id: String(connection.connectionId) },
        details: { reason: 'person_disabled' },
      })
    })
  }
  for (const token of await findTokensOfUser(database, userId)) {
    await revokeTokenWithAudit(context, { ...token, actor: OPERATOR, at: now() })
  }
}
