import assert from 'node:assert/strict'
import { it } from 'node:test'
import { BROWSER_ACTION_OPERATIONS } from '@signalbox/contract/session/action-operations.ts'
import { BROWSER_AGENT_OPERATIONS } from '@signalbox/contract/session/agent-operations.ts'
import { NOTIFICATION_OPERATIONS } from '@signalbox/contract/session/notification-operations.ts'
import { WORKSPACE_ROLES, type WorkspaceRole } from '@signalbox/contract/session/roles.ts'
import { SESSION_API_PATH } from '@signalbox/contract/session/session-operation.ts'
import { SESSION_OPERATIONS } from '@signalbox/contract/session/session-operations.ts'
import { PEOPLE_OPERATIONS } from '@signalbox/contract/session/user-operations.ts'
import { Ajv } from 'ajv'
import { openDashboardWorkspace } from '../../testing/fixtures/dashboard.ts'
import { PageClient } from '../../testing/fixtures/page-client.ts'
import { samplePurchase } from '../../testing/fixtures/sample-events.ts'
import { startTestService, type TestService } from '../../testing/fixtures/service.ts'
import { addMember, createTestUser, createTestWorkspace } from '../../testing/fixtures/users.ts'
import { generateUuidV7 } from '../runtime/util/ids.ts'
import { hashToken } from '../runtime/util/token-format.ts'
import { toKeyId } from '../signals/access/tracker-keys.ts'
import { insertImport } from '../signals/ingestion/import-store.ts'

const ajv = new Ajv({
  strict: false,
  formats: { 'date-time': true, date: true, uuid: true, int64: true, double: true },
})

/** `service/workspaces/users/session-roles.test.ts` has the table of these. */
const OF_OTHER_ROOMS = new Set<string>(
  [
    ...[...BROWSER_ACTION_OPERATIONS, ...BROWSER_AGENT_OPERATIONS],
    ...[...NOTIFICATION_OPERATIONS, ...PEOPLE_OPERATIONS],
  ].map(({ config }) => config.operationId),
)

/** Every operation of the dashboard's signals. */
const OPERATIONS = SESSION_OPERATIONS.filter(
  ({ config }) => !OF_OTHER_ROOMS.has(config.operationId),
)

const ROLES = [...WORKSPACE_ROLES, 'outsider', 'anonymous'] as const
type Role = (typeof ROLES)[number]
type Row = Record<Role, number>

/** What everyone in the workspace may read, events viewers too. */
const viewing = { owner: 200, admin: 200, member: 200, viewer: 200, outsider: 404, anonymous: 401 }
/** What every member may read. */
const reading = { ...viewing, viewer: 403 }
/** What owners and admins may change. */
const managing = { member: 403, viewer: 403, outsider: 404, anonymous: 401 }
const changing = { ...managing, owner: 200, admin: 200 }

/** The expected status of each operation by role. A missing row fails the test. */
const ROWS: Record<string, Row> = {
  listTrackers: viewing,
  listTrackerKeys: reading,
  issueTrackerKey: { ...managing, owner: 201, admin: 201 },
  rotateTrackerKey: { ...managing, owner: 201, admin: 201 },
  revokeTrackerKey: { ...managing, owner: 204, admin: 204 },
  getForwarder: reading,
  checkForwarder: reading,
  searchEvents: viewing,
  exportEvents: viewing,
  getEventDetails: viewing,
  previewReplay: reading,
  startReplay: { ...managing, owner: 200, admin: 200 },
  getReplayProgress: reading,
  createTracker: { ...managing, owner: 201, admin: 201 },
  renameTracker: { ...managing, owner: 204, admin: 204 },
  listDestinations: viewing,
  listTestModes: viewing,
  createDestination: { ...managing, owner: 201, admin: 201 },
  replaceCredential: changing,
  changeDestination: changing,
  disconnectDestination: { ...managing, owner: 204, admin: 204 },
  checkDestination: changing,
  changeRouting: changing,
  previewRouting: changing,
  switchTestMode: changing,
  // Test mode is off.
  sendPurchase: { ...managing, owner: 422, admin: 422 },
  readStartChecklist: reading,
  getOverview: viewing,
  getEventFlow: viewing,
  listIssues: viewing,
  listRefusals: viewing,
  getIssueSamples: viewing,
  changeIssue: changing,
  listImports: reading,
  checkImport: changing,
  startImport: { ...managing, owner: 201, admin: 201 },
  importEvents: changing,
  getAlertThresholds: reading,
  changeAlertThresholds: changing,
  eraseUserData: { ...managing, owner: 200, admin: 200 },
  listErasureReceipts: reading,
  listPageWithdrawals: reading,
  liftPageWithdrawals: { ...managing, owner: 200, admin: 200 },
  getMatchQuality: viewing,
  downloadMatchQuality: viewing,
  listReconciliations: viewing,
  downloadReconciliations: viewing,
  watchEvents: viewing,
  makeReconciliation: changing,
}

/** The body of each operation that has one. */
const BODIES: Record<string, object> = {
  issueTrackerKey: { kind: 'publishable', origins: ['https://shop.example'] },
  previewReplay: { limit: 10 },
  startReplay: { event_ids: ['order-1001'] },
  createTracker: { name: 'Second shop' },
  renameTracker: { name: 'Renamed shop' },
  createDestination: { type: 'meta', config: { dataset_id: '1234567890' }, access_token: 'token' },
  changeDestination: { name: 'Main dataset', paused: true },
  replaceCredential: { access_token: 'another-token' },
  switchTestMode: { enabled: true },
  changeIssue: { state: 'muted' },
  checkImport: { events: [{ event_name: 'Purchase' }] },
  startImport: { file_name: 'orders.csv', file_digest: 'a'.repeat(64) },
  importEvents: { events: [samplePurchase({ event_id: 'order-2002' })] },
  changeAlertThresholds: {
    score_min: 5,
    score_fall: 1.5,
    unexplained_events: 20,
    unexplained_percent: 2.5,
    unreachable_minutes: 30,
  },
  eraseUserData: { identifier_hash: 'a'.repeat(64), identifier_type: 'email' },
  liftPageWithdrawals: {
    withdrawal_ids: ['019aa6a5-b000-7f3c-9a41-2f0c4a1c7c11'],
    reason: 'Sent by a script.',
  },
}

function bodyOf(operationId: string, params: Record<string, string>): object | undefined {
  if (operationId !== 'makeReconciliation') return BODIES[operationId]
  return { date: '2026-11-21', destination_id: params.destination }
}

it('has every route of the API of the dashboard', async test => {
  const { routes } = await startTestService(test)
  const served = routes
    .filter(({ url, method }) => url.startsWith(`${SESSION_API_PATH}/`) && method !== 'HEAD')
    .map(({ url, method }) => `${method} ${url.slice(SESSION_API_PATH.length)}`)
  const listed = SESSION_OPERATIONS.map(({ method, url }) => `${method} ${url}`)
  assert.deepEqual(served.sort(), listed.sort())
})

it('enforces the permission table for every operation and role', async test => {
  const service = await startTestService(test)
  const found: Record<string, Partial<Row>> = {}
  const readers = await createScenario(service)
  for (const { method, url, config, schema } of OPERATIONS) {
    const { operationId } = config
    const responses: Record<number, object> = schema.response
    for (const role of ROLES) {
      // Each role needs a fresh workspace: a change of one must not affect the next.
      const { clients, params } = method === 'GET' ? readers : await createScenario(service)
      const path = `${SESSION_API_PATH}${url}`.replaceAll(
        /:(\w+)/g,
        (_, name) => params[name] ?? '',
      )
      const body = bodyOf(operationId, params)
      const reply = await clients[role].call(method, path, body ? { body } : {})
      found[operationId] = { ...found[operationId], [role]: reply.status }
      const described = responses[reply.status]
      assert.ok(described, `${operationId} does not name ${reply.status}`)
      if (reply.status === 204) assert.equal(reply.body, null)
      else assert.ok(ajv.validate(described, reply.body), `${operationId}: ${ajv.errorsText()}`)
    }
  }
  assert.deepEqual(found, ROWS)
})

it('answers 404 for the tracker of another workspace, to its owner as well', async test => {
  const service = await startTestService(test)
  const { owner } = await openDashboardWorkspace(service)
  const other = await openDashboardWorkspace(service, await service.newTracker())
  const params: Record<string, string> = {
    workspace: String(service.tracker.workspaceId),
    tracker: other.tracker.trackerId,
  }
  const ofTrackers = OPERATIONS.filter(({ url }: { url: string }) => url.includes(':tracker'))
  for (const { method, url, config } of ofTrackers) {
    const path = `${SESSION_API_PATH}${url}`.replaceAll(/:(\w+)/g, (_, name) => params[name] ?? '1')
    const body = bodyOf(config.operationId, { destination: other.tracker.destinationId })
    const reply = await owner.client.call(method, path, body ? { body } : {})
    assert.equal(reply.status, 404, config.operationId)
  }
})

it('shows an events viewer no alert of the workspace and no proposal that waits', async test => {
  const service = await startTestService(test)
  const { clients, params } = await createScenario(service)
  const alert = `insert into workspace_alerts (workspace_id, kind, sentence, details, raised_at)
    values ($1, 'audit_log_broken', 'The log was changed.', '{}', now())`
  await service.database.pool.query(alert, [params.workspace])
  const path = `${SESSION_API_PATH}/workspaces/${params.workspace}/trackers/${params.tracker}`
  const alertsOf = async (role: Role) =>
    (await clients[role].call('GET', `${path}/overview`)).body.alerts.length
  assert.deepEqual([await alertsOf('member'), await alertsOf('viewer')], [1, 0])
})

interface Scenario {
  clients: Record<Role, PageClient>
  params: Record<string, string>
}

/** A workspace with a tracker and a person of each role, and the owner of another workspace. */
async function createScenario(service: TestService): Promise<Scenario> {
  const { owner, tracker } = await openDashboardWorkspace(service, await service.newTracker())
  const { workspaceId, trackerId, destinationId } = tracker
  const join = async (role: WorkspaceRole) => {
    const { client, userId } = await createTestUser(service)
    await addMember(service, { workspaceId, userId, role })
    return client
  }
  const { owner: outsider } = await createTestWorkspace(service)
  const clients = {
    owner: owner.client,
    admin: await join('admin'),
    member: await join('member'),
    viewer: await join('viewer'),
    outsider: outsider.client,
    anonymous: new PageClient(service.url),
  }
  const { status } = await service.request('POST', '/api/v1/events', {
    secret: tracker.trackerSecret,
    body: samplePurchase(),
  })
  assert.equal(status, 202)
  await service.database.pool.query(
    `insert into delivery_issues (tracker_id, destination_id, day, class, code, subcode, reason,
       slot, attempts, failed, first_at, last_at, event_ids)
     values ($1, $2, $3::timestamptz, 'permanent', 100, -1, '', 0, 1, 1, $3, $3,
       '{0:order-1001}')`,
    [trackerId, destinationId, service.clock.now()],
  )
  const importId = generateUuidV7(service.clock.now())
  await insertImport(service.database, {
    trackerId,
    id: importId,
    fileName: 'orders.csv',
    fileDigest: 'a'.repeat(64),
    at: service.clock.now(),
  })
  const issue = ['delivery', destinationId, 'permanent', 100, -1, ''] as const
  const params = {
    workspace: String(workspaceId),
    tracker: trackerId,
    destination: destinationId,
    import: importId,
    issue: Buffer.from(JSON.stringify(issue)).toString('base64url'),
    key: toKeyId(hashToken(tracker.forwardingSecret)),
    kind: 'express',
    event: 'order-1001',
    replay: service.clock.now().toISOString(),
  }
  return { clients, params }
}
