import type { Database, Transaction } from '../../runtime/db/database.ts'

/** What a member chose for their own email, by topic. Other topics follow the role. */
export type TopicChoices = ReadonlyMap<string, boolean>

interface MemberKey {
  workspaceId: number
  userId: number
}

export async function readTopicChoices(
  { query }: Pick<Database, 'query'>,
  { workspaceId, userId }: MemberKey,
): Promise<TopicChoices> {
  const rows = await query
    .selectFrom('notification_choices')
    .select(['topic', 'is_wanted'])
    .where('workspace_id', '=', workspaceId)
    .where('user_id', '=', userId)
    .execute()
  return new Map(rows.map(row => [row.topic, row.is_wanted]))
}

/** The choices of all members of a workspace, by user. */
export async function listTopicChoices(
  { query }: Pick<Database, 'query'>,
  workspaceId: number,
): Promise<ReadonlyMap<number, TopicChoices>> {
  const rows = await query
    .selectFrom('notification_choices')
    .select(['user_id', 'topic', 'is_wanted'])
    .where('workspace_id', '=', workspaceId)
    .execute()
  const byUser = new Map<number, Map<string, boolean>>()
  for (const row of rows) {
    const choices = byUser.get(row.user_id) ?? new Map<string, boolean>()
    byUser.set(row.user_id, choices.set(row.topic, row.is_wanted))
  }
  return byUser
}

/** Replaces the choices of a member. They end with the membership. */
export async function saveTopicChoices(
  { query }: Transaction,
  { workspaceId, userId }: MemberKey,
  choices: TopicChoices,
): Promise<void> {
  await query
    .deleteFrom('notification_choices')
    .where('workspace_id', '=', workspaceId)
    .where('user_id', '=', userId)
    .execute()
  const rows = [...choices].map(([topic, isWanted]) => ({
    workspace_id: workspaceId,
    user_id: userId,
    topic,
    is_wanted: isWanted,
  }))
  if (rows.length > 0) await query.insertInto('notification_choices').values(rows).execute()
}
