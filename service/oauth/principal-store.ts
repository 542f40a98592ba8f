import { sql } from 'kysely'
import type { Database, Transaction } from '../db/database.ts'
import type { Audience, Permission } from './permissions.ts'

/** The ad account and the workspace that a token speaks for, as they are now. */
export interface TokenBinding {
  workspaceId: number
  workspaceName: string
  adAccountId: number
  adAccountName: string
  platform: string
  currency: string
  timeZone: string
  /** Who answers for it: they approved the connection or issued the token. */
  personId: number
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
 * All that must be so for an approval to hold: the person who gave it is active and an owner,
 * and so are the workspace and the ad account. Asked at every use, so that disabling one of them
 * stops every agent at once (decisions, section 10).
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

/** Whether a grant still has a connection that holds. */
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

/** Whom a live access token with this digest speaks for, at this moment; null for any other. */
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

export interface ExecutionTokenPrincipal extends TokenBinding {
  tokenId: number
  tokenName: string
  tier: string
  expiresAt: Date
}

/** Whom a live execution token with this digest speaks for, at this moment; null for any other. */
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

/** A credential by its id, and the ad account that it was bound to when it was used. */
export interface PrincipalKey {
  kind: 'connection' | 'execution_token'
  id: number
  adAccountId: number
}

/**
 * Whether a credential that proposed something still holds, for the same ad account. All that this
 * rests on is held until the transaction ends: who revokes the credential waits for what is being
 * done on its word, and is answered when nothing more will be.
 */
export async function lockActivePrincipal(
  { query }: Transaction,
  { kind, id, adAccountId }: PrincipalKey,
  at: Date,
): Promise<boolean> {
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

/** What a row of `BOUND` says. */
function toTokenBinding(row: Record<string, never>): TokenBinding {
  return {
    workspaceId: row.workspace_id as unknown as number,
    workspaceName: row.workspace_name as unknown as string,
    adAccountId: row.ad_account_id as unknown as number,
    adAccountName: row.ad_account_name as unknown as string,
    platform: row.platform as unknown as string,
    currency: row.currency as unknown as string,
    timeZone: row.time_zone as unknown as string,
    personId: row.person_id as unknown as number,
  }
}

/** Notes when a connection or an execution token was last used, at most once a minute. */
export async function recordLastUse(
  { pool }: Database,
  used: { connectionId: number } | { tokenId: number },
  at: Date,
): Promise<void> {
  const [table, id] =
    'connectionId' in used
      ? ['agent_connections', used.connectionId]
      : ['execution_tokens', used.tokenId]
  await pool.query({
    name: `note-use-of-${table}`,
    text: `update ${table} set last_used_at = $2::timestamptz
           where id = $1::integer and (
             last_used_at is null or last_used_at < $2::timestamptz - interval '1 minute'
           )`,
    values: [id, at],
  })
}
