import type { Permission } from '@signalbox/contract/session/agent-permissions.ts'
import { DECIDING_ROLES } from '@signalbox/contract/session/roles.ts'
import { sql } from 'kysely'
import type { Database, Transaction } from '../../runtime/db/database.ts'
import { createWorkspaceCondition } from '../../runtime/db/sql-fragments.ts'
import type { Audience } from './permissions.ts'

/** The current state of the ad account and the workspace that a token is for. */
export interface TokenBinding {
  workspaceId: number
  workspaceName: string
  adAccountId: number
  adAccountName: string
  platform: string
  currency: string
  timeZone: string
  /** The user who approved the connection or issued the token. */
  userId: number
}

export interface ConnectionPrincipal extends TokenBinding {
  connectionId: number
  connectionName: string
  clientName: string
  audience: Audience
  permissions: Permission[]
  approvedAt: Date
  expiresAt: Date
}

/**
 * What a valid approval requires: an active user who is still an owner, an active workspace and
 * an active ad account. Checked on every use, so that disabling one of them applies immediately.
 */
const ACTIVE_PARTIES = `
  join people.users person on person.id = bond.user_id and person.status = 'active'
  join workspaces workspace on workspace.id = bond.workspace_id and workspace.status = 'active'
  join members on members.workspace_id = bond.workspace_id and members.user_id = bond.user_id
    and members.role = 'owner'
  join ad_accounts account on account.id = bond.ad_account_id and account.status = 'active'
    and account.workspace_id = bond.workspace_id`

const BINDING_COLUMNS = `workspace.id as workspace_id, workspace.name as workspace_name,
  account.id as ad_account_id, account.name as ad_account_name, account.platform,
  account.currency, account.time_zone, person.id as person_id`

/** True when the grant has a valid connection. */
export async function isActiveGrant({ pool }: Database, grantId: string): Promise<boolean> {
  const { rows } = await pool.query({
    name: 'is-live-grant',
    text: `select 1 from (
             select user_id, workspace_id, ad_account_id from agent_connections
             where grant_id = $1::text and revoked_at is null
           ) bond ${ACTIVE_PARTIES}`,
    values: [grantId],
  })
  return rows.length > 0
}

/** Finds the principal of a valid access token; null for any other. */
export async function findConnectionPrincipal(
  { pool }: Database,
  { digest, resource, at }: { digest: string; resource: string; at: Date },
): Promise<ConnectionPrincipal | null> {
  const { rows } = await pool.query({
    name: 'find-connection-principal',
    text: `select bond.id, bond.name, bond.audience, bond.permissions, bond.created_at,
             token.expires_at, client.name as client_name, ${BINDING_COLUMNS}
           from oauth_artifacts token
           join agent_connections bond on bond.grant_id = token.grant_id
             and bond.revoked_at is null
           join oauth_clients client on client.client_id = bond.client_id
           ${ACTIVE_PARTIES}
           where token.model = 'AccessToken' and token.id = $1::text
             and token.expires_at > $3::timestamptz
             and token.payload ->> 'aud' = $2::text`,
    values: [digest, resource, at],
  })
  const row = rows[0]
  if (!row) return null
  return {
    connectionId: row.id,
    connectionName: row.name,
    clientName: row.client_name,
    audience: row.audience,
    permissions: row.permissions,
    approvedAt: row.created_at,
    expiresAt: row.expires_at,
    ...toTokenBinding(row),
  }
}

interface ExecutionTokenPrincipal extends TokenBinding {
  tokenId: number
  tokenName: string
  tier: string
  expiresAt: Date
}

/** Finds the principal of a valid execution token; null for any other. */
export async function findExecutionTokenPrincipal(
  { pool }: Database,
  digest: Buffer,
  at: Date,
): Promise<ExecutionTokenPrincipal | null> {
  const { rows } = await pool.query({
    name: 'find-token-principal',
    text: `select bond.id, bond.name, bond.tier, bond.expires_at, ${BINDING_COLUMNS}
           from (
             select *, issued_by as user_id from execution_tokens
             where token_digest = $1::bytea and revoked_at is null
               and expires_at > $2::timestamptz
           ) bond ${ACTIVE_PARTIES}`,
    values: [digest, at],
  })
  const row = rows[0]
  if (!row) return null
  return {
    tokenId: row.id,
    tokenName: row.name,
    tier: row.tier,
    expiresAt: row.expires_at,
    ...toTokenBinding(row),
  }
}

/** A proposer and the ad account of the proposal. */
interface PrincipalKey {
  kind: 'connection' | 'execution_token' | 'person'
  id: number
  adAccountId: number
}

/**
 * Returns whether the credential of a proposal is still valid for the same ad account, or the
 * user who proposed it may still decide on actions. Locks the rows that this depends on until the
 * transaction ends, so that revoking the credential waits for actions in progress.
 */
export async function lockActivePrincipal(
  { query }: Transaction,
  { kind, id, adAccountId }: PrincipalKey,
  at: Date,
): Promise<boolean> {
  if (kind === 'person') return lockActiveDecider({ query }, id, adAccountId)
  const bond =
    kind === 'connection'
      ? sql`select * from agent_connections where id = ${id} and grant_id is not null`
      : sql`select *, issued_by as user_id from execution_tokens
            where id = ${id} and expires_at > ${at}`
  const { rows } = await sql`
    select 1 from (${bond} and ad_account_id = ${adAccountId} and revoked_at is null) bond
    ${sql.raw(ACTIVE_PARTIES)} for share`.execute(query)
  return rows.length > 0
}

async function lockActiveDecider(
  { query }: Transaction,
  userId: number,
  adAccountId: number,
): Promise<boolean> {
  const { rows } = await sql`
    select 1 from people.users person
    join members on members.user_id = person.id and members.role in (${sql.join(DECIDING_ROLES)})
    join workspaces workspace on workspace.id = members.workspace_id
      and workspace.status = 'active'
    join ad_accounts account on account.workspace_id = workspace.id and account.status = 'active'
    where person.id = ${userId} and person.status = 'active' and account.id = ${adAccountId}
    for share`.execute(query)
  return rows.length > 0
}

function toTokenBinding(row: Record<string, never>): TokenBinding {
  return {
    workspaceId: row.workspace_id as unknown as number,
    workspaceName: row.workspace_name as unknown as string,
    adAccountId: row.ad_account_id as unknown as number,
    adAccountName: row.ad_account_name as unknown as string,
    platform: row.platform as unknown as string,
    currency: row.currency as unknown as string,
    timeZone: row.time_zone as unknown as string,
    userId: row.person_id as unknown as number,
  }
}

/** Records the last use of a connection or an execution token, at most once a minute. */
export async function recordLastUse(
  { pool }: Database,
  credential: { connectionId: number } | { tokenId: number },
  at: Date,
): Promise<void> {
  const [table, id] =
    'connectionId' in credential
      ? ['agent_connections', credential.connectionId]
      : ['execution_tokens', credential.tokenId]
  await pool.query({
    name: `note-use-of-${table}`,
    text: `update ${table} set last_used_at = $2::timestamptz
           where id = $1::integer and (
             last_used_at is null or last_used_at < $2::timestamptz - interval '1 minute'
           )`,
    values: [id, at],
  })
}

interface SignalStatus {
  /** A tracker of the workspace has stored an event. */
  hasEvents: boolean
  /** An active destination of the workspace delivers for this ad account. */
  hasDestination: boolean
}

/** Reads whether the signals of an ad account arrive. Stops at the first row of an index. */
export async function findSignalStatus(
  database: Database,
  { workspaceId, adAccountId }: { workspaceId: number; adAccountId: number },
): Promise<SignalStatus> {
  const own = await createWorkspaceCondition(database, workspaceId)
  const { rows } = await database.pool.query({
    name: 'find-signals',
    text: `select
             exists (
               select 1 from trackers
               join event_counts counts on counts.tracker_id = trackers.id
                 ${own.condition('counts.tracker_id', 3)}
               where trackers.workspace_id = $1::integer limit 1
             ) as has_events,
             exists (
               select 1 from trackers
               join destinations destination on destination.tracker_id = trackers.id
                 ${own.condition('destination.tracker_id', 3)}
               where trackers.workspace_id = $1::integer and destination.status = 'active'
                 and destination.platform_ad_account_id = $2::integer limit 1
             ) as has_destination`,
    values: [workspaceId, adAccountId, ...own.values],
  })
  return {
    hasEvents: rows[0]?.has_events === true,
    hasDestination: rows[0]?.has_destination === true,
  }
}
