import type { Database } from '../db/database.ts'
import { Refusal } from '../http/refusal.ts'
import type { CurrentPerson } from './current-person.ts'
import { findMembership, type Membership } from './member-store.ts'
import { mayDo, type WorkspaceAction } from './workspace-role.ts'

/** What somebody wants to do, and where. `workspaceId` may come from a path. */
export interface Intent {
  workspaceId: unknown
  action: WorkspaceAction
}

const INTEGER_MAX = 2_147_483_647

/**
 * The person's membership, if their role allows it. 404 to who does not belong there, as for a
 * workspace that does not exist; 403 to who belongs and may not.
 */
export async function requireRole(
  database: Database,
  { userId }: CurrentPerson,
  { workspaceId: given, action }: Intent,
): Promise<Membership> {
  const workspaceId = rowId(given)
  const membership =
    workspaceId === null ? null : await findMembership(database, { workspaceId, userId })
  if (!membership) throw Refusal.notFound('There is no such workspace among yours.')
  if (mayDo(membership.role, action)) return membership
  throw new Refusal(403, 'Your role in this workspace does not allow this; ask an owner.')
}

/** An id of ours in a path; null when it cannot be one. */
export function rowId(given: unknown): number | null {
  const text = String(given)
  if (!/^[1-9]\d{0,9}$/.test(text)) return null
  const id = Number(text)
  return id <= INTEGER_MAX ? id : null
}
