import { insertWorkspace, renameWorkspace } from '../access/store.ts'
import { Refusal } from '../http/refusal.ts'
import type { CurrentPerson } from './current-person.ts'
import { insertMember, listMemberships } from './member-store.ts'
import type { PeopleContext } from './people-context.ts'
import { personName } from './person-name.ts'
import { requireRole } from './require-role.ts'

const WORKSPACES_MAX = 50

/** Makes a workspace of which the person is the owner; both or none. Returns its id. */
export async function createWorkspace(
  { database, now }: PeopleContext,
  person: CurrentPerson,
  given: unknown,
): Promise<number> {
  const name = workspaceName(given)
  const { length } = await listMemberships(database, person.userId)
  if (length >= WORKSPACES_MAX) {
    throw Refusal.ofFields({ name: [`You belong to ${WORKSPACES_MAX} workspaces already.`] })
  }
  const createdAt = now()
  return database.query.transaction().execute(async query => {
    const workspaceId = await insertWorkspace({ query }, { name, createdAt })
    const owner = { workspaceId, userId: person.userId, role: 'owner', createdAt } as const
    await insertMember({ query }, owner)
    return workspaceId
  })
}

export async function nameWorkspace(
  { database }: PeopleContext,
  person: CurrentPerson,
  { workspaceId, name: given }: { workspaceId: unknown; name: unknown },
): Promise<void> {
  const intent = { workspaceId, action: 'rename_workspace' } as const
  const membership = await requireRole(database, person, intent)
  await renameWorkspace(database, membership.workspaceId, workspaceName(given))
}

function workspaceName(given: unknown): string {
  const name = personName(given)
  if (name === null) throw Refusal.ofFields({ name: ['Write a name of 1 to 100 characters.'] })
  return name
}
