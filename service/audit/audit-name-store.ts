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
  const namesOf = (type: keyof typeof TABLES) =>
    findRowNames(database, workspaceId, { type, ids: rowIdsOf(actors, type) })
  const found = [
    ...(await findUserNames(database, rowIdsOf(actors, 'person'))),
    ...(await namesOf('connection')),
    ...(await namesOf('execution_token')),
    ...(await findTrackerNames(database, workspaceId, idsOf(actors, 'tracker', TRACKER_ID))),
  ]
  return new Map(found)
}

/** At most nine digits, so that the number always fits the column. */
const ROW_ID = /^[1-9]\d{0,8}$/
const TRACKER_ID = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/

function idsOf(named: readonly Actor[], type: string, pattern: RegExp): string[] {
  const ids = named.flatMap(one => (one.type === type && one.id ? [one.id] : []))
  return [...new Set(ids)].filter(id => pattern.test(id))
}

function rowIdsOf(named: readonly Actor[], type: string): number[] {
  return idsOf(named, type, ROW_ID).map(Number)
}

type NamedRow = readonly [key: string, name: string]

async function findUserNames({ query }: Database, ids: number[]): Promise<NamedRow[]> {
  if (ids.length === 0) return []
  const rows = await query
    .selectFrom('people.users')
    .select(['id', 'email'])
    .where('id', 'in', ids)
    .execute()
  return rows.map(({ id, email }) => [`person ${id}`, email])
}

/** Rows that belong to a workspace, whose members name them. */
async function findRowNames(
  { query }: Database,
  workspaceId: number,
  { type, ids }: { type: keyof typeof TABLES; ids: number[] },
): Promise<NamedRow[]> {
  if (ids.length === 0) return []
  const rows = await query
    .selectFrom(TABLES[type])
    .select(['id', 'name'])
    .where('workspace_id', '=', workspaceId)
    .where('id', 'in', ids)
    .execute()
  return rows.map(({ id, name }) => [`${type} ${id}`, name])
}

const TABLES = {
  connection: 'agent_connections',
  execution_token: 'execution_tokens',
  ad_account: 'ad_accounts',
} as const

async function findTrackerNames(
  { query }: Database,
  workspaceId: number,
  ids: string[],
): Promise<NamedRow[]> {
  if (ids.length === 0) return []
  const rows = await query
    .selectFrom('trackers')
    .select(['id', 'name'])
    .where('workspace_id', '=', workspaceId)
    .where('id', 'in', ids)
    .execute()
  return rows.map(({ id, name }) => [`tracker ${id}`, name])
}

interface Subject {
  type: string
  id: string
}

/**
 * Current names of the subjects of entries, by `type id`: entries hold IDs only, because they are
 * never erased. A deleted subject has no name, and neither has one that its type names already,
 * such as the policy.
 */
export async function findSubjectNames(
  database: Database,
  workspaceId: number,
  subjects: readonly Subject[],
): Promise<ReadonlyMap<string, string>> {
  const idsByType = (type: string) => rowIdsOf(subjects, type)
  const adAccounts = { type: 'ad_account', ids: idsByType('ad_account') } as const
  const actors = subjects.map(({ type, id }) => ({ type: type === 'member' ? 'person' : type, id }))
  const named = await findActorNames(database, workspaceId, actors)
  return new Map([
    ...[...named].map(([key, name]) => [key.replace(/^person /, 'member '), name] as const),
    ...(await findRowNames(database, workspaceId, adAccounts)),
    ...(await findTargetNames(database, workspaceId, idsByType('action'))),
    ...(await findTokenEndings(database, workspaceId, idsByType('execution_token'))),
  ])
}

/** The name of the entity that an action changes, as the platform called it, else the agent. */
async function findTargetNames(
  { query }: Database,
  workspaceId: number,
  ids: number[],
): Promise<NamedRow[]> {
  if (ids.length === 0) return []
  const rows = await query
    .selectFrom('agent_actions')
    .select(['id', 'state_before', 'target_name', 'target_id'])
    .where('workspace_id', '=', workspaceId)
    .where('id', 'in', ids)
    .execute()
  return rows.map(({ id, state_before, target_name, target_id }) => {
    const before = state_before as unknown as { name?: string } | null
    return [`action ${id}`, before?.name ?? target_name ?? target_id]
  })
}

/** A token has a name and an ending by which its holder recognizes it. */
async function findTokenEndings(
  { query }: Database,
  workspaceId: number,
  ids: number[],
): Promise<NamedRow[]> {
  if (ids.length === 0) return []
  const rows = await query
    .selectFrom('execution_tokens')
    .select(['id', 'name', 'last_characters'])
    .where('workspace_id', '=', workspaceId)
    .where('id', 'in', ids)
    .execute()
  return rows.map(({ id, name, last_characters }) => [
    `execution_token ${id}`,
    `${name} …${last_characters}`,
  ])
}
