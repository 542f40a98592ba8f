import type { Database } from '../runtime/db/database.ts'

/** By `type id`, such as `person 7`. */
export type ActorNames = ReadonlyMap<string, string>

interface Actor {
  type: string
  id: string | null
}

/**
 * Current names of the actors in a workspace: of a person the email, because names repeat. A
 * deleted actor has no name.
 */
export async function findActorNames(
  database: Database,
  workspaceId: number,
  actors: readonly Actor[],
): Promise<ActorNames> {
  const idsOf = (type: string, pattern: RegExp) =>
    [
      ...new Set(actors.flatMap(actor => (actor.type === type && actor.id ? [actor.id] : []))),
    ].filter(id => pattern.test(id))
  const credentialsOf = (type: keyof typeof TABLES) =>
    findCredentialNames(database, workspaceId, { type, ids: idsOf(type, ROW_ID) })
  const found = [
    ...(await findUserNames(database, idsOf('person', ROW_ID))),
    ...(await credentialsOf('connection')),
    ...(await credentialsOf('execution_token')),
    ...(await findTrackerNames(database, workspaceId, idsOf('tracker', TRACKER_ID))),
  ]
  return new Map(found)
}

/** At most nine digits, so that the number always fits the column. */
const ROW_ID = /^[1-9]\d{0,8}$/
const TRACKER_ID = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/

type NamedActor = [key: string, name: string]

async function findUserNames({ query }: Database, ids: string[]): Promise<NamedActor[]> {
  if (ids.length === 0) return []
  const rows = await query
    .selectFrom('people.users')
    .select(['id', 'email'])
    .where('id', 'in', ids.map(Number))
    .execute()
  return rows.map(({ id, email }) => [`person ${id}`, email])
}

/** Agent credentials: both kinds belong to a workspace, whose members name them. */
async function findCredentialNames(
  { query }: Database,
  workspaceId: number,
  { type, ids }: { type: keyof typeof TABLES; ids: string[] },
): Promise<NamedActor[]> {
  if (ids.length === 0) return []
  const rows = await query
    .selectFrom(TABLES[type])
    .select(['id', 'name'])
    .where('workspace_id', '=', workspaceId)
    .where('id', 'in', ids.map(Number))
    .execute()
  return rows.map(({ id, name }) => [`${type} ${id}`, name])
}

const TABLES = { connection: 'agent_connections', execution_token: 'execution_tokens' } as const

async function findTrackerNames(
  { query }: Database,
  workspaceId: number,
  ids: string[],
): Promise<NamedActor[]> {
  if (ids.length === 0) return []
  const rows = await query
    .selectFrom('trackers')
    .select(['id', 'name'])
    .where('workspace_id', '=', workspaceId)
    .where('id', 'in', ids)
    .execute()
  return rows.map(({ id, name }) => [`tracker ${id}`, name])
}
