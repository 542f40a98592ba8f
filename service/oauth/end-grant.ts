import { revokeGrant } from './connection-store.ts'
import type { ChangeContext } from './oauth-context.ts'

/** Why a grant ends: its client said so, or what works once was used a second time. */
export type GrantEnding = 'own_request' | 'used_twice'

/**
 * Ends a grant: every code and token of it is forgotten and its connection is revoked, which is
 * written down. Nothing happens to a grant that is over.
 */
export async function endGrant(
  { database, now, audit }: ChangeContext,
  grantId: string,
  reason: GrantEnding,
): Promise<void> {
  const at = now()
  await database.query.transaction().execute(async query => {
    const ended = await revokeGrant({ query }, grantId, at)
    if (!ended) return
    const { workspaceId } = ended
    const id = String(ended.connectionId)
    await audit.append(
      { query },
      {
        workspaceId,
        at,
        actor: reason === 'own_request' ? { type: 'connection', id } : { type: 'system', id: null },
        action: 'connection.revoked',
        subject: { type: 'connection', id },
        details: { reason },
      },
    )
  })
}
