import type { Database } from '../db/database.ts'

/** Any client can register itself; the operator creates `device` clients. */
type ClientKind = 'self_registered' | 'device'

export interface OauthClient {
  clientId: string
  kind: ClientKind
  /** Chosen by the client; not verified. */
  name: string
  redirectUris: string[]
}

export async function insertClient(
  { query }: Database,
  client: OauthClient,
  createdAt: Date,
): Promise<void> {
  await query
    .insertInto('oauth_clients')
    .values({
      client_id: client.clientId,
      kind: client.kind,
      name: client.name,
      redirect_uris: client.redirectUris,
      created_at: createdAt,
      approved_at: null,
    })
    .execute()
}

export async function findClient(
  { query }: Database,
  clientId: string,
): Promise<OauthClient | null> {
  // Any caller can name a client, and PostgreSQL has no text with NUL.
  if (clientId.includes('\0')) return null
  const row = await query
    .selectFrom('oauth_clients')
    .select(['client_id', 'kind', 'name', 'redirect_uris'])
    .where('client_id', '=', clientId)
    .executeTakeFirst()
  if (!row) return null
  return {
    clientId: row.client_id,
    kind: row.kind as ClientKind,
    name: row.name,
    redirectUris: row.redirect_uris,
  }
}

const CLIENTS_LISTED_MAX = 200

/** Device clients, newest first. */
export async function listDeviceClients({ query }: Database) {
  return query
    .selectFrom('oauth_clients')
    .select(['client_id', 'name', 'created_at', 'approved_at'])
    .where('kind', '=', 'device')
    .orderBy('created_at', 'desc')
    .limit(CLIENTS_LISTED_MAX)
    .execute()
}

/** Deletes self-registered clients from before a time that were never approved. */
export async function deleteUnapprovedClients(
  { query }: Database,
  createdBefore: Date,
): Promise<number> {
  const deleted = await query
    .with('gone', part =>
      part
        .deleteFrom('oauth_clients')
        .where('kind', '=', 'self_registered')
        .where('approved_at', 'is', null)
        .where('created_at', '<', createdBefore)
        .returning('client_id'),
    )
    .selectFrom('gone')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow()
  return deleted.count
}
