import { sql } from 'kysely'
import type { Database } from '../../runtime/db/database.ts'

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

/** Stores what the metadata document of a client says now. */
export async function saveDocumentClient(
  { query }: Database,
  client: OauthClient,
  at: Date,
): Promise<void> {
  const { name, redirectUris: redirect_uris } = client
  const { clientId: client_id, kind } = client
  await query
    .insertInto('oauth_clients')
    .values({ client_id, kind, name, redirect_uris, created_at: at, approved_at: null })
    .onConflict(conflict =>
      conflict
        .column('client_id')
        .doUpdateSet(({ ref }) => ({
          name: ref('excluded.name'),
          redirect_uris: ref('excluded.redirect_uris'),
        }))
        .where(sql<boolean>`(oauth_clients.name, oauth_clients.redirect_uris)
          is distinct from (excluded.name, excluded.redirect_uris)`),
    )
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

export const CLIENTS_PER_PAGE = 200

/**
 * A page of the device clients: those in use first, that is with an approval, then newest first.
 * `after` is the last client of the page before. Empty after an unknown client.
 */
export async function listDeviceClients({ query }: Database, after: string | null) {
  const clients = query
    .selectFrom('oauth_clients as client')
    .select(['client.client_id', 'client.name', 'client.created_at', 'client.approved_at'])
    .where('client.kind', '=', 'device')
  const page =
    after === null
      ? clients
      : clients
          .innerJoin('oauth_clients as last', join => join.on('last.client_id', '=', after))
          .where(IS_AFTER_LAST)
  const rows = await page
    .orderBy(sql`client.approved_at is null`)
    .orderBy('client.created_at', 'desc')
    .orderBy('client.client_id')
    .limit(CLIENTS_PER_PAGE + 1)
    .execute()
  return { clients: rows.slice(0, CLIENTS_PER_PAGE), hasMore: rows.length > CLIENTS_PER_PAGE }
}

const IS_AFTER_LAST = sql<boolean>`
  (client.approved_at is null) > (last.approved_at is null)
  or (client.approved_at is null) = (last.approved_at is null)
    and (client.created_at < last.created_at
      or client.created_at = last.created_at and client.client_id > last.client_id)`

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
