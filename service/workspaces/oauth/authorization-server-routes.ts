import { randomUUID } from 'node:crypto'
import type { Database } from '../../runtime/db/database.ts'
import type { ServiceApp } from '../../runtime/http/service-app.ts'
import type { Settings } from '../../runtime/settings/settings.ts'
import { isObject } from '../../runtime/util/is-object.ts'
import { callProvider } from './authorization-server.ts'
import {
  CLIENT_NAME_CHARACTERS_MAX,
  findRedirectUriError,
  parseClientName,
} from './client-metadata.ts'
import { insertClient, type OauthClient } from './client-store.ts'
import { ENDPOINT_PATHS, OAUTH_PATHS, resourceMetadata, serverMetadata } from './metadata.ts'
import type { OauthContext } from './oauth-responses.ts'
import { CORS_HEADERS, corsPreflightHeaders, OauthRefusal } from './oauth-responses.ts'
import { AUDIENCES, RESOURCES, resourceMetadataPath } from './permissions.ts'

/** The token, device code and revocation endpoints, with their preflights. */
export function tokenRoutes(app: ServiceApp, { provider, publicOrigin }: OauthContext): void {
  const { token, device_authorization: device, revocation } = ENDPOINT_PATHS
  const config = { credential: 'none' } as const
  for (const url of [token, device, revocation]) {
    app.post(url, { config }, async (request, reply) => {
      const call = { provider: await provider(), origin: publicOrigin(), isPage: false }
      await callProvider({ request, reply }, call)
    })
    app.options(url, { config }, async (_request, reply) =>
      reply
        .code(204)
        .headers(corsPreflightHeaders(['POST']))
        .send(),
    )
  }
}

/** Dynamic client registration (RFC 7591): public, and grants no access by itself. */
export function registrationRoutes(app: ServiceApp, context: OauthContext): void {
  const config = { credential: 'none' } as const
  app.post(OAUTH_PATHS.registration, { config }, async (request, reply) =>
    reply.code(201).send(await registerClient(context, request.body)),
  )
  app.options(OAUTH_PATHS.registration, { config }, async (_request, reply) =>
    reply
      .code(204)
      .headers(corsPreflightHeaders(['POST']))
      .send(),
  )
}

/** The well-known documents, readable by pages of any origin. */
export function metadataRoutes(
  app: ServiceApp,
  { publicOrigin }: Pick<OauthContext, 'publicOrigin'>,
): void {
  serveDocument(app, OAUTH_PATHS.serverMetadata, () => serverMetadata(publicOrigin()))
  for (const audience of AUDIENCES) {
    serveDocument(app, resourceMetadataPath(audience), () =>
      resourceMetadata(publicOrigin(), audience),
    )
  }
}

const CACHE_HEADERS = { ...CORS_HEADERS, 'cache-control': 'public, max-age=300' }

function serveDocument(app: ServiceApp, url: string, read: () => object): void {
  const config = { credential: 'none' } as const
  app.get(url, { config }, async (_request, reply) => reply.headers(CACHE_HEADERS).send(read()))
  app.options(url, { config }, async (_request, reply) =>
    reply
      .code(204)
      .headers({ ...CORS_HEADERS, ...corsPreflightHeaders(['GET']) })
      .send(),
  )
}

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
async function registerClient(
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
