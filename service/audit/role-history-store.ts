import type { AuditAction } from '@signalbox/contract/agents/audit-actions.ts'
import { sql } from 'kysely'
import type { Transaction } from '../runtime/db/database.ts'

interface RoleLoss {
  workspaceId: number
  exceptUserId: number
  roles: readonly string[]
  since: Date
}

const ROLE_LOSSES: readonly AuditAction[] = ['member.role_changed', 'member.removed']

/**
 * Whether another person lost one of these roles since a given time, by a change of the role or by
 * leaving the workspace.
 */
export async function hasRoleLossSince(
  { query }: Transaction,
  { workspaceId, exceptUserId, roles, since }: RoleLoss,
): Promise<boolean> {
  const row = await query
    .selectFrom('audit_entries')
    .select('sequence')
    .where('workspace_id', '=', workspaceId)
    .where('action', 'in', ROLE_LOSSES)
    .where('subject_id', '<>', String(exceptUserId))
    .where(sql<boolean>`body::jsonb ->> 'at' >= ${since.toISOString()}`)
    .where(
      sql<string>`coalesce(body::jsonb #>> '{details,role_before}',
        body::jsonb #>> '{details,role}')`,
      'in',
      roles,
    )
    .limit(1)
    .executeTakeFirst()
  return row !== undefined
}

interface RoleGainQuery {
  workspaceId: number
  /** Undefined for every member. */
  userId?: number | undefined
  /** Gained by someone who had none of these. */
  roles: readonly string[]
  /** Undefined for all time. */
  since?: Date | undefined
}

/** That a member got a role. */
export interface RoleGain {
  userId: number
  actorType: string
  /** Null for the operator and the service itself. */
  actorId: string | null
  reason: string | null
}

const ROLE_GAINS: readonly AuditAction[] = ['member.added', 'member.role_changed']

/** Who gained one of these roles, and from whom. Equal gains are returned once. */
export async function findRoleGains(
  { query }: Transaction,
  { workspaceId, userId, roles, since }: RoleGainQuery,
): Promise<RoleGain[]> {
  const before = sql<string>`coalesce(body::jsonb #>> '{details,role_before}', '')`
  return query
    .selectFrom('audit_entries')
    .distinct()
    .select([
      sql<number>`subject_id::integer`.as('userId'),
      sql<string>`body::jsonb #>> '{actor,type}'`.as('actorType'),
      sql<string | null>`body::jsonb #>> '{actor,id}'`.as('actorId'),
      sql<string | null>`body::jsonb #>> '{details,reason}'`.as('reason'),
    ])
    .where('workspace_id', '=', workspaceId)
    .where('subject_type', '=', 'member')
    .where('action', 'in', ROLE_GAINS)
    .where(sql<string>`body::jsonb #>> '{details,role}'`, 'in', roles)
    .where(before, 'not in', roles)
    .$if(userId !== undefined, entries => entries.where('subject_id', '=', String(userId)))
    .$if(since !== undefined, entries =>
      entries.where(sql<boolean>`body::jsonb ->> 'at' >= ${since?.toISOString()}`),
    )
    .execute()
}

/** The IDs of the people who invited a member to a workspace; empty if nobody did. */
export async function findInviters(
  { query }: Transaction,
  { workspaceId, userId }: { workspaceId: number; userId: number },
): Promise<string[]> {
  const rows = await query
    .selectFrom('audit_entries as added')
    .innerJoin('audit_entries as invited', join =>
      join
        .onRef('invited.workspace_id', '=', 'added.workspace_id')
        .on('invited.subject_type', '=', 'invitation')
        .on('invited.action', '=', 'invitation.created')
        .on(sql<boolean>`invited.subject_id = added.body::jsonb #>> '{details,invitation_id}'`),
    )
    .distinct()
    .select(sql<string | null>`invited.body::jsonb #>> '{actor,id}'`.as('inviter'))
    .where('added.workspace_id', '=', workspaceId)
    .where('added.subject_type', '=', 'member')
    .where('added.subject_id', '=', String(userId))
    .where('added.action', '=', 'member.added')
    .execute()
  return rows.flatMap(({ inviter }) => inviter ?? [])
}
