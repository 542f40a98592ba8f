import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { it, type TestContext } from 'node:test'
import { pageView } from '../../testing/page-view.ts'
import { type ServiceUnderTest, serviceUnderTest } from '../../testing/service-under-test.ts'
import { revokeKey } from './store.ts'
import { newToken, tokenDigest } from './token-format.ts'

/** Every kind of credential that a caller may try, as the headers that carry it. */
type Kind = keyof Awaited<ReturnType<typeof credentials>>

/** What opens a route: the status for each kind that is let in. All others get 401. */
type Statuses = Partial<Record<Kind, number>>

/** The status that everybody gets, whatever they bring. */
type Open = { everybody: number }

interface Attempt {
  path?: string
  body?: (kind: Kind) => unknown
}

type Row = (Statuses | Open) & Attempt

/**
 * One row for each route of the service (spec: Authentication, the table and rules 1 to 5). A route
 * without a row fails the test, so whoever adds a route decides here who may open it.
 */
const ROWS: Record<string, Row> = {
  'POST /api/v1/events': {
    tracker_secret: 202,
    secret_of_another: 202,
    publishable_key: 202,
    body: kind => pageView({ event_id: kind }),
  },
  'OPTIONS /api/v1/events': { everybody: 204 },
  'POST /api/v1/verification-events': { tracker_secret: 202, secret_of_another: 202 },
  ...reading('/api/v1/events/:event', '/api/v1/events/tracker_secret', {
    tracker_secret: 200,
    secret_of_another: 404,
  }),
  ...reading('/api/v1/dashboard/events', '/api/v1/dashboard/events', {
    tracker_secret: 200,
    secret_of_another: 200,
  }),
  ...reading('/api/v1/reports/reconciliation', '/api/v1/reports/reconciliation?date=2026-11-20', {
    tracker_secret: 200,
    secret_of_another: 200,
  }),
  ...reading('/api/v1/reports/emq', '/api/v1/reports/emq', {
    tracker_secret: 200,
    secret_of_another: 200,
  }),
  'PATCH /api/v1/destinations/:destination/test-mode': {
    tracker_secret: 200,
    secret_of_another: 404,
    body: () => ({ enabled: true }),
  },
  'POST /api/v1/destinations/:destination/test-purchase': {
    tracker_secret: 200,
    secret_of_another: 404,
  },
  'POST /api/v1/deliveries/replay': { tracker_secret: 200, secret_of_another: 200 },
  'DELETE /api/v1/user-data': {
    tracker_secret: 200,
    secret_of_another: 200,
    body: () => ({ identifier_hash: '0'.repeat(64) }),
  },

  ...reading('/api/v1/sandbox', '/api/v1/sandbox', { everybody: 200 }),
  ...reading('/api/v1/sandbox/keys', '/api/v1/sandbox/keys', { everybody: 200 }),
  'POST /api/v1/sandbox/keys': { everybody: 201 },
  'POST /api/v1/sandbox/keyed-events': {
    sandbox_key: 200,
    body: () => ({ event_name: 'Purchase' }),
  },
  'OPTIONS /api/v1/sandbox': { everybody: 204 },
  'OPTIONS /api/v1/sandbox/keys': { everybody: 204 },
  'OPTIONS /api/v1/sandbox/keyed-events': { everybody: 204 },

  ...reading('/livez', '/livez', { everybody: 200 }),
  ...reading('/readyz', '/readyz', { everybody: 200 }),
  ...reading('/openapi.json', '/openapi.json', { everybody: 200 }),
  ...reading('/.well-known/jwks.json', '/.well-known/jwks.json', { everybody: 200 }),
  ...reading('/.well-known/security.txt', '/.well-known/security.txt', { everybody: 200 }),
}

/** With it the routes are there that only some installations have. */
const OPTIONS = { securityContact: 'mailto:security@example.com' }

it('every route has a row, and every row a route', async test => {
  const routes = routesFromTheStart(test)
  await serviceUnderTest(test, OPTIONS)
  assert.deepEqual(routes.toSorted(), Object.keys(ROWS).toSorted())
})

it('401 keeps every credential from every route that it does not open', async test => {
  const service = await serviceUnderTest(test, OPTIONS)
  const kinds = Object.entries(await credentials(service)) as [Kind, Record<string, string>][]
  const found: Record<string, Record<string, number>> = {}
  const expected: typeof found = {}
  for (const [route, row] of Object.entries(ROWS)) {
    for (const [kind, headers] of kinds) {
      const reply = await attempt(service, { route, row, kind, headers })
      found[route] = { ...found[route], [kind]: reply.status }
      expected[route] = { ...expected[route], [kind]: statusOf(row, kind) }
      if (reply.status !== 401) continue
      assert.equal(reply.headers.get('www-authenticate'), 'Bearer', `${kind} on ${route}`)
      if (!route.startsWith('HEAD')) assert.deepEqual(reply.body, { message: 'Unauthenticated.' })
    }
  }
  assert.deepEqual(found, expected)
})

function statusOf(row: Row, kind: Kind): number {
  return 'everybody' in row ? row.everybody : ((row as Statuses)[kind] ?? 401)
}

/** A route that is read: Fastify answers HEAD where it answers GET. */
function reading(url: string, path: string, statuses: Statuses | Open): Record<string, Row> {
  return { [`GET ${url}`]: { ...statuses, path }, [`HEAD ${url}`]: { ...statuses, path } }
}

async function credentials(service: ServiceUnderTest) {
  const { trackerSecret, publishableKey, forwardingSecret } = service.tracker
  const another = await service.newTracker()
  const retired = await service.newTracker()
  await revokeKey(service.database, {
    trackerId: retired.trackerId,
    digest: tokenDigest(retired.trackerSecret),
    revokedAt: service.clock.now(),
  })
  const { body: sandbox } = await service.request('GET', '/api/v1/sandbox/keys', { secret: null })
  const bearer = (token: string) => ({ authorization: `Bearer ${token}` })
  return {
    tracker_secret: bearer(trackerSecret),
    secret_of_another: bearer(another.trackerSecret),
    revoked_secret: bearer(retired.trackerSecret),
    publishable_key: bearer(publishableKey),
    forwarding_secret: bearer(forwardingSecret),
    sandbox_key: bearer(sandbox.api_key),
    sandbox_key_of_nobody: bearer(newToken('sandbox')),
    execution_token: bearer(newToken('execution')),
    // OAuth access tokens are opaque; those of both resources look alike.
    oauth_management_token: bearer(randomBytes(32).toString('base64url')),
    oauth_mcp_token: bearer(randomBytes(32).toString('base64url')),
    browser_session: { cookie: `signalbox_session=${randomBytes(32).toString('base64url')}` },
    secret_in_a_cookie: { cookie: `authorization=Bearer ${trackerSecret}` },
    basic: { authorization: `Basic ${btoa(`${trackerSecret}:`)}` },
    garbage: bearer('garbage'),
    none: {},
  }
}

interface Trial {
  route: string
  row: Row
  kind: Kind
  headers: Record<string, string>
}

function attempt(service: ServiceUnderTest, { route, row, kind, headers }: Trial) {
  const [method = '', url = ''] = route.split(' ')
  const path = row.path ?? url.replace(':destination', service.tracker.destinationId)
  const body = row.body?.(kind)
  return service.request(method, path, {
    secret: null,
    headers,
    ...(body === undefined ? {} : { body }),
  })
}

/** As `POST /path`. Fastify tells of an app when it is made, before anybody adds a route. */
function routesFromTheStart(test: TestContext): string[] {
  const routes: string[] = []
  const onMade = (message: unknown) => {
    const { fastify } = message as { fastify: ServiceUnderTest['server']['app'] }
    fastify.addHook('onRoute', ({ method, url }) => {
      for (const name of [method].flat()) routes.push(`${name} ${url}`)
    })
  }
  subscribe('fastify.initialization', onMade)
  test.after(() => unsubscribe('fastify.initialization', onMade))
  return routes
}
