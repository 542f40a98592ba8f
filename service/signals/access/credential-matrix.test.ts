import assert from 'node:assert/strict'
import { randomBytes, randomUUID } from 'node:crypto'
import { it } from 'node:test'
import {
  DRY_RUN_REQUEST,
  PROPOSAL_REQUEST,
} from '@signalbox/contract/examples/agent-action-requests.ts'
import { issueAgentTokens } from '../../../testing/fixtures/agent-tokens.ts'
import { recordRoutesFromStart } from '../../../testing/fixtures/registered-routes.ts'
import { samplePageView } from '../../../testing/fixtures/sample-events.ts'
import { startTestService, type TestService } from '../../../testing/fixtures/service.ts'
import { generateToken, hashToken } from '../../runtime/util/token-format.ts'
import { sessionCookieName } from '../../workspaces/users/session-token.ts'
import { revokeKey } from './key-store.ts'

/** The headers for each kind of credential. */
type Kind = keyof Awaited<ReturnType<typeof credentials>>

/** The status for each kind of credential that the route accepts. All others get 401. */
type Statuses = Partial<Record<Kind, number>>

/** The status without and with any credential. */
type Open = { anyone: number }

interface Attempt {
  path?: string
  body?: (kind: Kind) => unknown
  accept?: string
}

type Row = (Statuses | Open) & Attempt

const BOTH_SECRETS = { tracker_secret: 200, secret_of_another: 200 }

/**
 * One row for each route of the service. A route without a row fails the test, so the author of a
 * route decides here which credentials it accepts.
 */
const ROWS: Record<string, Row> = {
  'POST /api/v1/events': { ...ofKeys(202), body: kind => samplePageView({ event_id: kind }) },
  'OPTIONS /api/v1/events': { anyone: 204 },
  'POST /api/v1/events/batch': {
    ...ofKeys(200),
    body: kind => ({ events: [samplePageView({ event_id: kind })] }),
  },
  'OPTIONS /api/v1/events/batch': { anyone: 204 },
  'POST /api/v1/verification-events': { tracker_secret: 202, secret_of_another: 202 },
  ...reading('/api/v1/events/:event', '/api/v1/events/tracker_secret', {
    tracker_secret: 200,
    secret_of_another: 404,
  }),
  ...reading('/api/v1/dashboard/events', '/api/v1/dashboard/events', BOTH_SECRETS),
  ...reading(
    '/api/v1/reports/reconciliation',
    '/api/v1/reports/reconciliation?date=2026-11-20',
    BOTH_SECRETS,
  ),
  ...reading('/api/v1/reports/emq', '/api/v1/reports/emq', BOTH_SECRETS),
  'PATCH /api/v1/destinations/:destination/test-mode': {
    tracker_secret: 200,
    secret_of_another: 404,
    body: () => ({ enabled: true }),
  },
  'POST /api/v1/destinations/:destination/test-purchase': {
    tracker_secret: 200,
    secret_of_another: 404,
  },
  'POST /api/v1/deliveries/replay': BOTH_SECRETS,
  ...reading('/api/v1/withdrawals', '/api/v1/withdrawals', BOTH_SECRETS),
  'POST /api/v1/withdrawals/lift': {
    ...BOTH_SECRETS,
    body: () => ({ withdrawal_ids: [randomUUID()], reason: 'Forged.' }),
  },
  'DELETE /api/v1/user-data': {
    ...BOTH_SECRETS,
    body: () => ({ identifier_hash: '0'.repeat(64) }),
  },

  ...reading('/api/v1/sandbox', '/api/v1/sandbox', { anyone: 200 }),
  ...reading('/api/v1/sandbox/keys', '/api/v1/sandbox/keys', { anyone: 200 }),
  'POST /api/v1/sandbox/keys': { anyone: 201 },
  'POST /api/v1/sandbox/keyed-events': {
    sandbox_key: 200,
    body: () => ({ event_name: 'Purchase' }),
  },
  'OPTIONS /api/v1/sandbox': { anyone: 204 },
  'OPTIONS /api/v1/sandbox/keys': { anyone: 204 },
  'OPTIONS /api/v1/sandbox/keyed-events': { anyone: 204 },

  ...reading('/api/v1/agent/context', '/api/v1/agent/context', { oauth_management_token: 200 }),
  ...ofActions('POST', 'actions/dry-run', { execution_token: 200, body: () => DRY_RUN_REQUEST }),
  ...ofActions('POST', 'actions', { execution_token: 201, body: () => PROPOSAL_REQUEST }),
  ...ofActions('GET', 'actions', { execution_token: 200 }),
  ...ofActions('GET', 'actions/policy', { execution_token: 200 }),
  ...ofActions('GET', 'actions/:action', { execution_token: 200 }),
  ...ofActions('GET', 'actions/:action/decision-receipt', { execution_token: 200 }),
  ...ofActions('GET', 'action-batches/:batch', { execution_token: 200 }),
  // No action of this proposal is pending.
  ...ofActions('POST', 'action-batches/:batch/cancel', { execution_token: 409 }),
  'POST /mcp': {
    execution_token: 200,
    oauth_mcp_token: 200,
    accept: 'application/json, text/event-stream',
    body: () => ({ jsonrpc: '2.0', id: 1, method: 'ping' }),
  },
  ...reading('/mcp', '/mcp', { anyone: 405 }),
  'DELETE /mcp': { anyone: 405 },
  'OPTIONS /mcp': { anyone: 204 },
  'POST /oauth/register': { anyone: 201, body: () => REGISTRATION },
  'OPTIONS /oauth/register': { anyone: 204 },
  ...Object.fromEntries(
    ['/oauth2/token', '/oauth2/device/code', '/oauth2/revoke'].flatMap(path => [
      // They authenticate by a form, not by a header.
      [`POST ${path}`, { anyone: 400 }],
      [`OPTIONS ${path}`, { anyone: 204 }],
    ]),
  ),
  ...metadata('/.well-known/oauth-authorization-server'),
  ...metadata('/.well-known/oauth-protected-resource/mcp'),
  ...metadata('/.well-known/oauth-protected-resource/api/v1/agent'),
  ...openToAll('/auth.md', '/llms.txt', '/llms-full.txt', '/docs', '/docs.md'),
  ...reading('/docs/:name', '/docs/api', { anyone: 200 }),
  ...reading('/docs/search', '/docs/search', { anyone: 200 }),
  ...reading('/docs/assets/:file', '/docs/assets/other.css', { anyone: 404 }),
  ...openToAll('/livez', '/readyz', '/openapi.json', '/.well-known/jwks.json'),
  ...openToAll('/.well-known/security.txt'),
}

const REGISTRATION = { client_name: 'Agent', redirect_uris: ['https://agent.example/cb'] }

/** Routes of the browser, which accept a session cookie only. */
const OF_PEOPLE = new RegExp(
  '^/(sign-|verify|reset|magic|forgot|account|workspaces|invitations|browser|auth/|assets|w/|' +
    'dashboard-assets)|^/$',
)
const OF_APPROVALS = /^\/oauth2\/(authorize|interaction|device$|device\/:)/

/** Enables the optional routes. */
const OPTIONS = { securityContact: 'mailto:security@example.com' }

it('has one row for each route', async test => {
  const routes = recordRoutesFromStart(test)
  await startTestService(test, OPTIONS)
  const ofPrograms = routes.filter(route => !isOfPeople(route))
  assert.deepEqual(ofPrograms.toSorted(), Object.keys(ROWS).toSorted())
})

it('accepts nothing but a session on the routes of a session', async test => {
  const routes = recordRoutesFromStart(test)
  const service = await startTestService(test, OPTIONS)
  const { browser_session: session, none: _, ...bearers } = await credentials(service)
  const opened: string[] = []
  for (const route of routes.filter(isOfPeople)) {
    const anonymous = await visit(service, route, {})
    for (const [kind, headers] of Object.entries(bearers)) {
      const given = await visit(service, route, headers)
      assert.deepEqual(given, anonymous, `${kind} on ${route}`)
    }
    if (!route.startsWith('GET ')) continue
    const signedIn = await visit(service, route, session)
    if (signedIn.status === 200 && anonymous.status !== 200) opened.push(route)
  }
  assert.ok(opened.includes('GET /browser/me'), opened.join(', '))
  assert.ok(opened.includes('GET /workspaces'))
  assert.ok(opened.includes('GET /oauth2/device'))
})

it('returns 401 for every credential on every route that does not accept it', async test => {
  const service = await startTestService(test, OPTIONS)
  const kinds = Object.entries(await credentials(service)) as [Kind, Record<string, string>][]
  const ids = await idsInPaths(service)
  const found: Record<string, Record<string, number>> = {}
  const expected: typeof found = {}
  for (const [route, row] of Object.entries(ROWS)) {
    for (const [kind, headers] of kinds) {
      const reply = await attempt(service, { route, row, kind, headers, ids })
      found[route] = { ...found[route], [kind]: reply.status }
      expected[route] = { ...expected[route], [kind]: statusOf(row, kind) }
      if (reply.status !== 401) continue
      // OAuth never issues an execution token.
      const isOfAgents = /agent\/context|mcp/.test(route)
      const challenge = reply.headers.get('www-authenticate') ?? ''
      assert.match(challenge, isOfAgents ? METADATA : /^Bearer$/, `${kind} on ${route}`)
      if (route.startsWith('HEAD')) continue
      const { message = reply.body.error_description } = reply.body
      assert.equal(message, 'Unauthenticated.')
    }
  }
  assert.deepEqual(found, expected)
})

function statusOf(row: Row, kind: Kind): number {
  return 'anyone' in row ? row.anyone : ((row as Statuses)[kind] ?? 401)
}

const METADATA = new RegExp(
  '^Bearer resource_metadata="http://127[^"]+/oauth-protected-resource/[^"]+"' +
    '(, error="invalid_token")?, scope="[a-z:.-]+"$',
)

function isOfPeople(route: string): boolean {
  const [, path = ''] = route.split(' ')
  return OF_PEOPLE.test(path) || OF_APPROVALS.test(path)
}

/** Sends an empty request as a page of the same origin. */
async function visit({ url }: TestService, route: string, headers: Record<string, string>) {
  const [method = '', path = ''] = route.split(' ')
  const { status, headers: answered } = await fetch(url + path.replaceAll(/:\w+/g, '999'), {
    method,
    redirect: 'manual',
    headers: { origin: url, 'sec-fetch-site': 'same-origin', ...headers },
  })
  return { status, location: answered.get('location') }
}

/** A document that pages on any origin may read. */
function metadata(url: string): Record<string, Row> {
  return { ...reading(url, url, { anyone: 200 }), [`OPTIONS ${url}`]: { anyone: 204 } }
}

/** Routes of actions, below the workspace of the token. */
function ofActions(method: 'GET' | 'POST', place: string, row: Statuses & Attempt) {
  const url = `/api/v1/agent/workspaces/:workspace/${place}`
  return method === 'GET' ? reading(url, url, row) : { [`POST ${url}`]: { ...row, path: url } }
}

function openToAll(...urls: string[]): Record<string, Row> {
  return Object.assign({}, ...urls.map(url => reading(url, url, { anyone: 200 })))
}

function ofKeys(status: number) {
  return { tracker_secret: status, secret_of_another: status, publishable_key: status }
}

/** A readable route: Fastify serves HEAD where it serves GET. */
function reading(url: string, path: string, statuses: Statuses | Open): Record<string, Row> {
  return { [`GET ${url}`]: { ...statuses, path }, [`HEAD ${url}`]: { ...statuses, path } }
}

async function credentials(service: TestService) {
  const { trackerSecret, publishableKey, forwardingSecret } = service.tracker
  const another = await service.newTracker()
  const retired = await service.newTracker()
  await revokeKey(service.database, {
    trackerId: retired.trackerId,
    digest: hashToken(retired.trackerSecret),
    revokedAt: service.clock.now(),
  })
  const { body: sandbox } = await service.request('GET', '/api/v1/sandbox/keys', { secret: null })
  const agents = await issueAgentTokens(service)
  const bearer = (token: string) => ({ authorization: `Bearer ${token}` })
  return {
    tracker_secret: bearer(trackerSecret),
    secret_of_another: bearer(another.trackerSecret),
    revoked_secret: bearer(retired.trackerSecret),
    publishable_key: bearer(publishableKey),
    forwarding_secret: bearer(forwardingSecret),
    sandbox_key: bearer(sandbox.api_key),
    sandbox_key_of_nobody: bearer(generateToken('sandbox')),
    execution_token: bearer(agents.execution),
    execution_token_of_nobody: bearer(generateToken('execution')),
    oauth_management_token: bearer(agents.management),
    oauth_mcp_token: bearer(agents.mcp),
    oauth_token_of_nobody: bearer(randomBytes(32).toString('base64url')),
    browser_session: { cookie: agents.workspace.owner.client.cookieHeader },
    session_as_bearer: bearer(agents.workspace.owner.client.cookies.get(SESSION) ?? ''),
    secret_in_a_cookie: { cookie: `authorization=Bearer ${trackerSecret}` },
    basic: { authorization: `Basic ${btoa(`${trackerSecret}:`)}` },
    garbage: bearer('garbage'),
    none: {},
  }
}

const SESSION = sessionCookieName('http://127.0.0.1')

interface Trial {
  route: string
  row: Row
  kind: Kind
  headers: Record<string, string>
  ids: Record<string, string>
}

async function idsInPaths({ database, tracker }: TestService) {
  const { rows } = await database.pool.query('select workspace_id from execution_tokens')
  const workspace = String(rows[0].workspace_id)
  return { destination: tracker.destinationId, workspace, action: '1', batch: '1' }
}

function attempt(service: TestService, { route, row, kind, headers, ids }: Trial) {
  const [method = '', url = ''] = route.split(' ')
  const path = (row.path ?? url).replaceAll(/:(\w+)/g, (text, name) => ids[name] ?? text)
  const body = row.body?.(kind)
  return service.request(method, path, {
    secret: null,
    headers: { ...(row.accept && { accept: row.accept }), ...headers },
    ...(body === undefined ? {} : { body }),
  })
}
