import { hoistNamedSchemas, SchemaRegister } from './hoist-named-schemas.ts'
import { createOperationObject } from './operation-object.ts'
import { BASE_PATH, DOCUMENTED_OPERATIONS, type DocumentedOperation } from './operations.ts'
import { RESPONSE_HEADERS } from './response-headers.ts'

/** The version of the contract, not of the program. Generated clients are pinned to one version. */
export const API_VERSION = '0.5.0'

type Json = Record<string, unknown>

/**
 * The contract as an OpenAPI 3.1.0 document, made from the operations that the service uses as its
 * routes. Members are in the order of their declaration, so the document is deterministic. Without
 * a base URL, its server is a template for the reader to fill in.
 *
 * It has no `x-signed`: that member promises a signature, and `signOpenapi` adds both.
 */
export function createOpenapiDocument(baseUrl?: string): Json {
  const register = new SchemaRegister()
  const paths = createPaths(DOCUMENTED_OPERATIONS, register)
  return {
    openapi: '3.1.0',
    info: INFO,
    servers: baseUrl === undefined ? SERVER_TEMPLATE : [{ url: baseUrl }],
    security: [{ trackerSecret: [] }],
    tags: TAGS,
    paths,
    components: {
      schemas: register.schemas(),
      headers: RESPONSE_HEADERS,
      securitySchemes: SECURITY_SCHEMES,
    },
  }
}

const TAGS = [
  { name: 'Events', description: 'Submit conversion events and track their deliveries.' },
  { name: 'Event batches', description: 'An extension: many events in one request.' },
  { name: 'Destinations', description: 'Test a destination before live use.' },
  { name: 'Deliveries', description: 'Replay failed deliveries.' },
  { name: 'Reports', description: 'Platform counts and match quality.' },
  { name: 'User data', description: 'Erase the data of a person.' },
  { name: 'Withdrawals', description: 'List and lift withdrawals of consent that pages sent.' },
  { name: 'Sandbox', description: 'Try events without an account; nothing is stored or sent.' },
  { name: 'Agents', description: 'Data of the ad account for an approved agent.' },
  { name: 'Agent actions', description: 'Propose ad changes and track their outcome.' },
]

const INFO = {
  title: 'Signalbox Conversion Events API',
  version: API_VERSION,
  description:
    'Server-side conversion events: accepted once, checked for consent, delivered to an ' +
    'advertising platform, explained. Every body is JSON in UTF-8. Times are UTC, ISO 8601 with ' +
    'milliseconds. Members that may be null are always present.',
  license: { name: 'MIT', identifier: 'MIT' },
}

const SERVER_TEMPLATE = [
  {
    url: '{base_url}',
    variables: {
      base_url: {
        default: `http://127.0.0.1:3000${BASE_PATH}`,
        description: `The public origin of the service with ${BASE_PATH}.`,
      },
    },
  },
]

/**
 * What a credential may send. OpenAPI declares media types for an operation and not for a
 * credential, so its request bodies have the one that every credential may send.
 */
function mediaTypes(...types: readonly string[]) {
  return { 'x-request-media-types': types }
}

const TRACKER_SECRET = {
  type: 'http',
  scheme: 'bearer',
  bearerFormat: 'sbx_sk_ and 72 hexadecimal digits',
  description:
    'The secret of one signal tracker. It gives access to the events of that tracker only. ' +
    'Keep it on a server: never in a browser, a URL, a log or a repository. Send ' +
    '`application/json`; every other media type is 415.',
  ...mediaTypes('application/json'),
}

const SANDBOX_KEY = {
  type: 'http',
  scheme: 'bearer',
  bearerFormat: 'sbx_test_ and a signed text',
  description:
    'A sandbox key. Anyone can get one. It gives access to sandbox validation for fifteen ' +
    'minutes, and to nothing in production.',
}

const PUBLISHABLE_KEY = {
  type: 'http',
  scheme: 'bearer',
  bearerFormat: 'sbx_pk_ and 72 hexadecimal digits',
  description:
    'The key of one signal tracker for pages. It is public and works for createEvent and ' +
    'createEvents only, from an origin that is registered with it. Send `application/json`, or ' +
    'the same JSON as `text/plain`, the only type that a beacon can send.',
  ...mediaTypes('application/json', 'text/plain'),
}

const PUBLISHABLE_KEY_IN_QUERY = {
  type: 'apiKey',
  in: 'query',
  name: 'key',
  description:
    'A publishable key, for beacons, which cannot set a header. Send `application/json` or the ' +
    'same JSON as `text/plain`.',
  ...mediaTypes('application/json', 'text/plain'),
}

const OAUTH_MANAGEMENT = {
  type: 'http',
  scheme: 'bearer',
  bearerFormat: 'an opaque OAuth 2.1 access token',
  description:
    'An access token of the resource {base_url}/agent, with the scope ad-account.read. A person ' +
    'approves it for one ad account, as /auth.md of the service describes.',
}

const EXECUTION_TOKEN = {
  type: 'http',
  scheme: 'bearer',
  bearerFormat: 'sbx_wet_ and 72 hexadecimal digits',
  description:
    'A token that an owner issues for one ad account, for unattended programs. It works for the ' +
    'agent actions and the MCP server, and not for the Conversion API.',
}

const SECURITY_SCHEMES = {
  trackerSecret: TRACKER_SECRET,
  sandboxKey: SANDBOX_KEY,
  publishableKey: PUBLISHABLE_KEY,
  publishableKeyInQuery: PUBLISHABLE_KEY_IN_QUERY,
  oauthManagement: OAUTH_MANAGEMENT,
  executionToken: EXECUTION_TOKEN,
}

function createPaths(operations: readonly DocumentedOperation[], register: SchemaRegister): Json {
  const paths: Record<string, Json> = {}
  for (const operation of operations) {
    const path = operation.url.replaceAll(/:(\w+)/g, '{$1}')
    const method = operation.method.toLowerCase()
    const object = createOperationObject(operation, schema => hoistNamedSchemas(schema, register))
    paths[path] = { ...paths[path], [method]: object }
  }
  return paths
}
