import type { Database } from '../db/database.ts'

/** `self_registered`: any client may. `device`: the operator of this installation made it. */
export type ClientKind = 'self_registered' | 'device'

export interface OauthClient {
  clientId: string
  kind: ClientKind
  /** What it calls itself; unverified. */
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

/** The clients that were made for devices, the newest first. */
export async function listDeviceClients({ query }: Database) {
  return query
    .selectFrom('oauth_clients')
    .select(['client_id', 'name', 'created_at', 'approved_at'])
    .where('kind', '=', 'device')
    .orderBy('created_at', 'desc')
    .limit(CLIENTS_LISTED_MAX)
    .execute()
}

/** Forgets clients that registered themselves before then and were never approved. */
export async function deleteUnapprovedClients(
  { query }: Database,
  createdBefore: Date,
): Promise<number> {
  const gone = await query
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
  return gone.count
}
