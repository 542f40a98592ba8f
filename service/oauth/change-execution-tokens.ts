import type { Database } from '../db/database.ts'
import { Refusal } from '../http/refusal.ts'
import { requireRole, rowId } from '../people/require-role.ts'
import type { WorkspaceVisit } from './change-connection.ts'
import { endIssuedToken } from './end-issued-token.ts'
import { type ListedExecutionToken, listExecutionTokens } from './execution-token-store.ts'
import {
  type ExecutionTokenRequest,
  type IssuedExecutionToken,
  issueExecutionToken,
} from './issue-execution-token.ts'
import type { ChangeContext } from './oauth-context.ts'

/** The execution tokens of a workspace, for its owners; never what was issued. */
export async function readExecutionTokens(
  database: Database,
  { person, workspaceId }: WorkspaceVisit,
): Promise<ListedExecutionToken[]> {
  const action = 'manage_agents'
  const membership = await requireRole(database, person, { workspaceId, action })
  return listExecutionTokens(database, membership.workspaceId)
}

type Wish = Pick<ExecutionTokenRequest, 'adAccountId' | 'tier' | 'days' | 'name'>

/** An owner issues a token. Throws a Refusal: 403, 404, or 422 with every wrong field. */
export async function makeExecutionToken(
  context: ChangeContext,
  { person, workspaceId }: WorkspaceVisit,
  wish: Wish,
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
export async function endExecutionToken(
  context: ChangeContext,
  { person, workspaceId: given, tokenId }: WorkspaceVisit & { tokenId: unknown },
): Promise<void> {
  const action = 'manage_agents'
  const intent = { workspaceId: given, action } as const
  const { workspaceId } = await requireRole(context.database, person, intent)
  const token = { workspaceId, tokenId: rowId(tokenId) ?? 0 }
  const actor = { type: 'person', id: String(person.userId) } as const
  if (await endIssuedToken(context, { ...token, actor, at: context.now() })) return
  throw Refusal.notFound('There is no such live token in this workspace.')
}
