import type { Permission } from '@signalbox/contract/session/agent-permissions.ts'
import { CompiledQuery, type Kysely, sql } from 'kysely'
import type { Database, Transaction } from '../../runtime/db/database.ts'
import type { Tables } from '../../runtime/db/tables.ts'
import { pageRange, toListPage } from '../../runtime/util/list-page.ts'
import type { Audience } from './permissions.ts'

/** What a user approved for a client, for one ad account. */
export interface Approval {
  grantId: string
  clientId: string
  userId: number
  workspaceId: number
  adAccountId: number
  audience: Audience
  permissions: readonly Permission[]
  name: string
  approvedAt: Date
}

/**
 * Stores an approval as a connection, once per grant, and returns its ID; null when it is stored
 * already. A connection of the same parties that lost its grant, because its ad account was
 * changed, gets the new grant and keeps its name.
 */
export async function saveApproval(
  { query }: Transaction,
  approval: Approval,
): Promise<number | null> {
  await query
    .updateTable('oauth_clients')
    .set({ approved_at: sql`coalesce(approved_at, ${approval.approvedAt}::timestamptz)` })
    .where('client_id', '=', approval.clientId)
    .execute()
  if (await hasGrant(query, approval.grantId)) return null
  const renewed = await renewConnection(query, approval)
  if (renewed !== null) return renewed
  const row = await query
    .insertInto('agent_connections')
    .values({
      grant_id: approval.grantId,
      client_id: approval.clientId,
      user_id: approval.userId,
      workspace_id: approval.workspaceId,
      ad_account_id: approval.adAccountId,
      audience: approval.audience,
      permissions: [...approval.permissions],
      name: approval.name,
      created_at: approval.approvedAt,
    })
    // The same page, submitted twice concurrently, is one approval.
    .onConflict(conflict => conflict.column('grant_id').doNothing())
    .returning('id')
    .executeTakeFirst()
  return row?.id ?? null
}

async function hasGrant(transaction: Kysely<Tables>, grantId: string): Promise<boolean> {
  const row = await transaction
    .selectFrom('agent_connections')
    .select('id')
    .where('grant_id', '=', grantId)
    .executeTakeFirst()
  return row !== undefined
}

async function renewConnection(
  transaction: Kysely<Tables>,
  approval: Approval,
): Promise<number | null> {
  const withoutGrant = transaction
    .selectFrom('agent_connections')
    .select('id')
    .where('client_id', '=', approval.clientId)
    .where('user_id', '=', approval.userId)
    .where('ad_account_id', '=', approval.adAccountId)
    .where('audience', '=', approval.audience)
    .where('grant_id', 'is', null)
    .where('revoked_at', 'is', null)
    .orderBy('id')
    .limit(1)
    .forUpdate()
    .skipLocked()
  const row = await transaction
    .updateTable('agent_connections')
    .set({ grant_id: approval.grantId })
    .where('id', 'in', withoutGrant)
    .returning('id')
    .executeTakeFirst()
  return row?.id ?? null
}

export interface ConnectionKey {
  workspaceId: number
  connectionId: number
}

/**
 * Deletes the codes and tokens of a grant and revokes its connection, in one statement, so that
 * both happen together. Returns the connection; null if it was revoked before.
 */
export async function revokeGrant(
  { query }: Transaction,
  grantId: string,
  revokedAt: Date,
): Promise<ConnectionKey | null> {
  const statement = CompiledQuery.raw(
    `with gone as (delete from oauth_artifacts where grant_id = $1::text)
     update agent_connections set revoked_at = $2::timestamptz
     where grant_id = $1::text and revoked_at is null
     returning workspace_id as "workspaceId", id as "connectionId"`,
    [grantId, revokedAt],
  )
  const { rows } = await query.executeQuery(statement)
  return (rows[0] as ConnectionKey | undefined) ?? null
}

/** Revokes a connection and its tokens. Returns false when it was not live. */
export async function revokeConnection(
  { query }: Transaction,
  { workspaceId, connectionId }: ConnectionKey,
  revokedAt: Date,
): Promise<boolean> {
  const statement = CompiledQuery.raw(
    `with gone as (
       delete from oauth_artifacts where grant_id in (
         select grant_id from agent_connections
         where workspace_id = $1::integer and id = $2::integer
       )
     )
     update agent_connections set revoked_at = $3::timestamptz
     where workspace_id = $1::integer and id = $2::integer and revoked_at is null
     returning id`,
    [workspaceId, connectionId, revokedAt],
  )
  return (await query.executeQuery(statement)).rows.length === 1
}

/** The connections that a user approved and that are not revoked. */
export async function findConnectionsOfUser(
  { query }: Transaction,
  userId: number,
): Promise<ConnectionKey[]> {
  return query
    .selectFrom('agent_connections')
    .select(['workspace_id as workspaceId', 'id as connectionId'])
    .where('user_id', '=', userId)
    .where('revoked_at', 'is', null)
    .orderBy('id')
    .execute()
}

/**
 * Binds a live connection to another ad account of its workspace and deletes its tokens: the agent
 * must be approved again, for the new account. Returns the previous ad account; null when there is
 * nothing to change, or no such account.
 */
export async function rebindConnection(
  { query }: Transaction,
  { workspaceId, connectionId }: ConnectionKey,
  adAccountId: number,
): Promise<number | null> {
  const statement = CompiledQuery.raw(
    `with found as (
       select connection.id, connection.grant_id, connection.ad_account_id
       from agent_connections connection
       join ad_accounts account on account.id = $3::integer
         and account.workspace_id = $1::integer
         and account.status = 'active'
       where connection.workspace_id = $1::integer and connection.id = $2::integer
         and connection.revoked_at is null and connection.ad_account_id <> $3::integer
       for update of connection
     ), gone as (
       delete from oauth_artifacts where grant_id in (select grant_id from found)
     )
     update agent_connections connection set ad_account_id = $3::integer, grant_id = null
     from found where connection.id = found.id
     returning found.ad_account_id as before`,
    [workspaceId, connectionId, adAccountId],
  )
  const { rows } = await query.executeQuery(statement)
  return (rows[0] as { before: number } | undefined)?.before ?? null
}

/** Reads the name of a live connection and locks it until the transaction ends. */
export async function lockConnectionName(
  { query }: Transaction,
  { workspaceId, connectionId }: ConnectionKey,
): Promise<string | null> {
  const row = await query
    .selectFrom('agent_connections')
    .select('name')
    .where('workspace_id', '=', workspaceId)
    .where('id', '=', connectionId)
    .where('revoked_at', 'is', null)
    .forNoKeyUpdate()
    .executeTakeFirst()
  return row?.name ?? null
}

export async function renameConnection(
  { query }: Transaction,
  { workspaceId, connectionId }: ConnectionKey,
  name: string,
): Promise<void> {
  await query
    .updateTable('agent_connections')
    .set({ name })
    .where('workspace_id', '=', workspaceId)
    .where('id', '=', connectionId)
    .execute()
}

/** The ad account of a live connection; null when there is none. */
export async function findConnectionAdAccount(
  { query }: Transaction,
  { workspaceId, connectionId }: ConnectionKey,
): Promise<number | null> {
  const row = await query
    .selectFrom('agent_connections')
    .select('ad_account_id')
    .where('workspace_id', '=', workspaceId)
    .where('id', '=', connectionId)
    .where('revoked_at', 'is', null)
    .executeTakeFirst()
  return row?.ad_account_id ?? null
}

/**
 * A page of the connections of a workspace: the live ones first, then the revoked ones, newest
 * first each. So no number of revoked ones hides one that still has access.
 */
export async function listConnections({ query }: Database, workspaceId: number, page: number) {
  const { offset, limit } = pageRange(page)
  const rows = await selectConnections(query)
    .where('agent_connections.workspace_id', '=', workspaceId)
    .orderBy(sql`agent_connections.revoked_at is not null`)
    .orderBy('agent_connections.id', 'desc')
    .offset(offset)
    .limit(limit)
    .execute()
  return toListPage(rows, page)
}

function selectConnections(query: Kysely<Tables>) {
  return query
    .selectFrom('agent_connections')
    .innerJoin('oauth_clients', 'oauth_clients.client_id', 'agent_connections.client_id')
    .innerJoin('ad_accounts', 'ad_accounts.id', 'agent_connections.ad_account_id')
    .innerJoin('people.users', 'people.users.id', 'agent_connections.user_id')
    .select([
      'agent_connections.id',
      'agent_connections.name',
      'agent_connections.audience',
      'agent_connections.permissions',
      'agent_connections.grant_id',
      'agent_connections.created_at',
      'agent_connections.last_used_at',
      'agent_connections.revoked_at',
      'agent_connections.ad_account_id',
      'agent_connections.user_id',
      'oauth_clients.name as client_name',
      'ad_accounts.name as ad_account_name',
      'people.users.email as approved_by',
    ])
}
export type ListedConnection = Awaited<ReturnType<typeof listConnections>>['rows'][number]
