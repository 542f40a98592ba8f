import type { Database } from '../db/database.ts'
import { Refusal } from '../http/refusal.ts'
import { requireRole, rowId } from '../people/require-role.ts'
import type { WorkspaceVisit } from './change-connection.ts'
import {
  type ListedExecutionToken,
  listExecutionTokens,
  revokeExecutionToken,
} from './execution-token-store.ts'
import {
  type ExecutionTokenRequest,
  type IssuedExecutionToken,
  issueExecutionToken,
} from './issue-execution-token.ts'

/** The execution tokens of a workspace, for its owners; never what was issued. */
export async function readExecutionTokens(
  database: Database,
  { person, workspaceId }: WorkspaceVisit,
): Promise<ListedExecutionToken[]> {
  const action = 'manage_agents'
  const membership = await requireRole(database, person, { workspaceId, action })
  return listExecutionTokens(database, membership.workspaceId)
}

type Wish = Pick<ExecutionTokenRequest, 'adAccountId' | 'tier' | 'days' | 'name' | 'issuedAt'>

/** An owner issues a token. Throws a Refusal: 403, 404, or 422 with every wrong field. */
export async function makeExecutionToken(
  database: Database,
  { person, workspaceId }: WorkspaceVisit,
  wish: Wish,
): Promise<IssuedExecutionToken> {
  const action = 'manage_agents'
  const membership = await requireRole(database, person, { workspaceId, action })
  const issuedBy = person.userId
  return issueExecutionToken(database, {
    ...wish,
    issuedBy,
    workspaceId: membership.workspaceId,
  })
}

/** An owner revokes a token, which stops at once. Throws a Refusal: 403 or 404. */
export async function endExecutionToken(
  database: Database,
  { person, workspaceId, tokenId }: WorkspaceVisit & { tokenId: unknown },
  at: Date,
): Promise<void> {
  const action = 'manage_agents'
  const membership = await requireRole(database, person, { workspaceId, action })
  const token = { workspaceId: membership.workspaceId, tokenId: rowId(tokenId) ?? 0 }
  if (await revokeExecutionToken(database, token, at)) return
  throw Refusal.notFound('There is no such live token in this workspace.')
}
