import { randomUUID } from 'node:crypto'
import type { Database } from '../../runtime/db/database.ts'
import type { Settings } from '../../runtime/settings/settings.ts'
import { isObject } from '../../runtime/util/is-object.ts'
import { insertClient, type OauthClient } from './client-store.ts'
import { CLIENT_NAME_CHARACTERS_MAX, parseClientName } from './display-name.ts'
import { OauthRefusal } from './oauth-responses.ts'
import { RESOURCES } from './permissions.ts'
import { findRedirectUriError } from './redirect-uri.ts'

interface RegistrationContext {
  database: Database
  now: () => Date
  settings: Pick<Settings, 'nativeSchemes'>
}

/** The response to a registration. */
interface RegisteredClient {
  client_id: string
  grant_types: string[]
  response_types: string[]
  redirect_uris: string[]
  scope: string
  token_endpoint_auth_method: 'none'
}

const REDIRECT_URIS_MAX = 10

/**
 * Registers a public client (RFC 7591). Needs no authentication, because a client alone has no
 * access. Ignores unknown members, since clients send what other servers require. Throws an
 * OauthRefusal.
 */
export async function registerClient(
  { database, now, settings }: RegistrationContext,
  body: unknown,
): Promise<RegisteredClient> {
  if (!isObject(body)) throw new OauthRefusal('invalid_request', 'Send a JSON object.')
  const client: OauthClient = {
    clientId: randomUUID(),
    kind: 'self_registered',
    name: requireClientName(body.client_name),
    redirectUris: parseRedirectUris(body.redirect_uris, settings.nativeSchemes),
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

function requireClientName(input: unknown): string {
  const name = parseClientName(input)
  if (name !== null) return name
  throw new OauthRefusal(
    'invalid_request',
    `Send client_name, one visible line of at most ${CLIENT_NAME_CHARACTERS_MAX} characters, ` +
      'without typographic quotation marks, check marks and links; it must not say that it is ' +
      'verified, official or certified.',
  )
}

function parseRedirectUris(input: unknown, nativeSchemes: readonly string[]): string[] {
  const isList = Array.isArray(input) && input.length > 0 && input.length <= REDIRECT_URIS_MAX
  if (!isList || !input.every(uri => typeof uri === 'string')) {
    throw new OauthRefusal(
      'invalid_request',
      `Send redirect_uris, a list of 1 to ${REDIRECT_URIS_MAX} strings.`,
    )
  }
  for (const uri of input) {
    const error = findRedirectUriError(uri, nativeSchemes)
    if (error !== null) throw new OauthRefusal('invalid_redirect_uri', error)
  }
  return [...new Set(input)]
}
