import { randomUUID } from 'node:crypto'
import type { Database } from '../db/database.ts'
import { insertClient, type OauthClient } from './client-store.ts'
import { parseDisplayName } from './display-name.ts'
import { OauthRefusal } from './oauth-responses.ts'
import { RESOURCES } from './permissions.ts'
import { findRedirectUriError } from './redirect-uri.ts'

export interface RegistrationContext {
  database: Database
  now: () => Date
  /** Schemes of approved native clients, without the colon. */
  nativeSchemes: readonly string[]
}

/** What a client learns about itself: exactly these members (spec: POST /oauth/register). */
export interface RegisteredClient {
  client_id: string
  grant_types: string[]
  response_types: string[]
  redirect_uris: string[]
  scope: string
  token_endpoint_auth_method: 'none'
}

const NAME_CHARACTERS_MAX = 100
const REDIRECT_URIS_MAX = 10

/**
 * Registers a public client (RFC 7591). Anybody may: it makes a public name and nothing else, no
 * person, no token and no grant. Throws an OauthRefusal; members beside the two are ignored, since
 * clients send what other servers ask for.
 */
export async function registerClient(
  { database, now, nativeSchemes }: RegistrationContext,
  body: unknown,
): Promise<RegisteredClient> {
  const { client_name: givenName, redirect_uris: givenUris } = membersOf(body)
  const client: OauthClient = {
    clientId: randomUUID(),
    kind: 'self_registered',
    name: clientName(givenName),
    redirectUris: redirectUris(givenUris, nativeSchemes),
  }
  await insertClient(database, client, now())
  return {
    client_id: client.clientId,
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    redirect_uris: client.redirectUris,
    scope: RESOURCES.mcp.scope,
    token_endpoint_auth_method: 'none',
  }
}

function clientName(given: unknown): string {
  const name = parseDisplayName(given, NAME_CHARACTERS_MAX)
  if (name !== null) return name
  throw new OauthRefusal(
    'invalid_request',
    `Send client_name, one visible line of at most ${NAME_CHARACTERS_MAX} characters.`,
  )
}

function membersOf(body: unknown): Record<string, unknown> {
  if (typeof body === 'object' && body !== null && !Array.isArray(body)) {
    return body as Record<string, unknown>
  }
  throw new OauthRefusal('invalid_request', 'Send a JSON object.')
}

function redirectUris(given: unknown, nativeSchemes: readonly string[]): string[] {
  const isList = Array.isArray(given) && given.length > 0 && given.length <= REDIRECT_URIS_MAX
  if (!isList || !given.every(uri => typeof uri === 'string')) {
    throw new OauthRefusal(
      'invalid_request',
      `Send redirect_uris, a list of 1 to ${REDIRECT_URIS_MAX} texts.`,
    )
  }
  for (const uri of given) {
    const fault = findRedirectUriError(uri, nativeSchemes)
    if (fault !== null) throw new OauthRefusal('invalid_redirect_uri', fault)
  }
  return [...new Set(given)]
}
