import {
  AUDIENCES,
  type Audience,
  RESOURCES,
  resourceMetadataPath,
  resourceUri,
} from './permissions.ts'

export const OAUTH_PATHS = {
  serverMetadata: '/.well-known/oauth-authorization-server',
  registration: '/oauth/register',
  guide: '/auth.md',
} as const

/** The endpoints of the library, which `provider.ts` configures. */
export const ENDPOINT_PATHS = {
  authorization: '/oauth2/authorize',
  token: '/oauth2/token',
  device_authorization: '/oauth2/device/code',
  code_verification: '/oauth2/device',
  revocation: '/oauth2/revoke',
} as const

/** The consent page, followed by the uid of the pending request. */
export const INTERACTION_PATH = '/oauth2/interaction'

/**
 * Authorization-server metadata (RFC 8414) with `agent_auth`, the convention of auth.md v0.1.0,
 * whose last two members are our own.
 */
export function serverMetadata(origin: string): Record<string, unknown> {
  return {
    issuer: origin,
    authorization_endpoint: origin + ENDPOINT_PATHS.authorization,
    token_endpoint: origin + ENDPOINT_PATHS.token,
    registration_endpoint: origin + OAUTH_PATHS.registration,
    device_authorization_endpoint: origin + ENDPOINT_PATHS.device_authorization,
    revocation_endpoint: origin + ENDPOINT_PATHS.revocation,
    scopes_supported: AUDIENCES.map(audience => RESOURCES[audience].scope),
    response_types_supported: ['code'],
    response_modes_supported: ['query'],
    grant_types_supported: [
      'authorization_code',
      'refresh_token',
      'urn:ietf:params:oauth:grant-type:device_code',
    ],
    token_endpoint_auth_methods_supported: ['none'],
    revocation_endpoint_auth_methods_supported: ['none'],
    code_challenge_methods_supported: ['S256'],
    client_id_metadata_document_supported: true,
    authorization_response_iss_parameter_supported: true,
    protected_resources: AUDIENCES.map(audience => resourceUri(origin, audience)),
    service_documentation: origin + OAUTH_PATHS.guide,
    agent_auth: agentAuth(origin),
  }
}

function agentAuth(origin: string): Record<string, unknown> {
  const registerUri = origin + OAUTH_PATHS.registration
  return {
    skill: origin + OAUTH_PATHS.guide,
    register_uri: registerUri,
    identity_types_supported: ['anonymous'],
    anonymous: { credential_types_supported: ['public_client'] },
    registration_methods_supported: ['public_client'],
    public_client: {
      method: 'POST',
      content_type: 'application/json',
      required: ['client_name', 'redirect_uris'],
      token_endpoint_auth_method: 'none',
      grant_types: ['authorization_code', 'refresh_token'],
      code_challenge_methods_supported: ['S256'],
      scope: RESOURCES.mcp.scope,
      human_approval_required: true,
      credentials_issued: false,
    },
  }
}

/** Protected-resource metadata (RFC 9728): the authorization server and the guide. */
export function resourceMetadata(origin: string, audience: Audience): Record<string, unknown> {
  const { name, scope } = RESOURCES[audience]
  return {
    resource: resourceUri(origin, audience),
    resource_name: name,
    authorization_servers: [origin],
    scopes_supported: [scope],
    bearer_methods_supported: ['header'],
    resource_documentation: origin + OAUTH_PATHS.guide,
    registration_endpoint: origin + OAUTH_PATHS.registration,
  }
}

/**
 * The challenge of a 401: where to start (RFC 9728, 5.1) and the scope to ask for. It has an error
 * only if the request had a token (RFC 6750, 3.1), the same one for every invalid token.
 */
export function bearerChallenge(
  origin: string,
  audience: Audience,
  { hasToken }: { hasToken: boolean },
): string {
  const parameters = [
    `resource_metadata="${origin}${resourceMetadataPath(audience)}"`,
    ...(hasToken ? ['error="invalid_token"'] : []),
    `scope="${RESOURCES[audience].scope}"`,
  ]
  return `Bearer ${parameters.join(', ')}`
}
