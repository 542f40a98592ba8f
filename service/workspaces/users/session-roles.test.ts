import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { it } from 'node:test'
import { BROWSER_ACTION_OPERATIONS } from '@signalbox/contract/session/action-operations.ts'
import { BROWSER_AGENT_OPERATIONS } from '@signalbox/contract/session/agent-operations.ts'
import { NOTIFICATION_OPERATIONS } from '@signalbox/contract/session/notification-operations.ts'
import { WORKSPACE_ROLES } from '@signalbox/contract/session/roles.ts'
import { SESSION_API_PATH } from '@signalbox/contract/session/session-operation.ts'
import { PEOPLE_OPERATIONS } from '@signalbox/contract/session/user-operations.ts'
import { Ajv } from 'ajv'
import {
  buildBudgetProposal,
  seedSimulatedCampaigns,
} from '../../../testing/fixtures/agent-actions.ts'
import { issueAgentTokens } from '../../../testing/fixtures/agent-tokens.ts'
import { PageClient } from '../../../testing/fixtures/page-client.ts'
import { startTestService, type TestService } from '../../../testing/fixtures/service.ts'
import {
  addMember,
  createTestUser,
  createTestWorkspace,
  type TestUser,
} from '../../../testing/fixtures/users.ts'
import { upsertInvitation } from './invitation-store.ts'

const ajv = new Ajv({ strict: false, formats: { 'date-time': true, uuid: true, uri: true } })

/** Every operation of the browser API, except those of the dashboard module. */
const OPERATIONS = [
  ...PEOPLE_OPERATIONS,
  ...NOTIFICATION_OPERATIONS,
  ...BROWSER_AGENT_OPERATIONS,
  ...BROWSER_ACTION_OPERATIONS,
] as const

const ROLES = [...WORKSPACE_ROLES, 'outsider', 'anonymous'] as const
type Role = (typeof ROLES)[number]
type Row = Record<Role, number>

/** Statuses of the owner, the administrator, the member and the events viewer, in this order. */
function statuses(owner: number, admin: number, member: number, viewer: number) {
  return { owner, admin, member, viewer, outsider: 404, anonymous: 401 }
}

const signedIn = { ...statuses(200, 200, 200, 200), outsider: 200 }
const reading = statuses(200, 200, 200, 403)
const writing = statuses(204, 204, 204, 403)
const managing = statuses(201, 201, 403, 403)
const changing = statuses(204, 204, 403, 403)
const owning = statuses(204, 403, 403, 403)
const deciding = statuses(200, 200, 403, 403)

/** The expected status of each operation by role. A missing row fails the test. */
const ROWS: Record<string, Row> = {
  getMe: signedIn,
  listSessions: signedIn,
  endSession: statuses(404, 404, 404, 404),
  endOtherSessions: { ...statuses(204, 204, 204, 204), outsider: 204 },
  listWorkspaces: signedIn,
  createWorkspace: { ...statuses(201, 201, 201, 201), outsider: 201 },
  renameWorkspace: owning,
  // The owner of this test has no second factor.
  changeWorkspaceSecurity: { ...owning, owner: 403 },
  // The own row alone.
  listMembers: { ...reading, viewer: 200 },
  changeMemberRole: owning,
  confirmMemberRole: { ...owning, owner: 409 },
  removeMember: changing,
  listInvitations: { ...reading, member: 403 },
  createInvitation: managing,
  withdrawInvitation: changing,
  listMyInvitations: signedIn,
  answerInvitation: { ...statuses(404, 404, 404, 404), outsider: 200 },
  listAdAccounts: reading,
  createAdAccount: managing,
  updateAdAccount: changing,

  getNotifications: reading,
  chooseOwnTopics: writing,
  sendTestEmail: writing,
  changeTopics: owning,
  setWebhook: { ...owning, owner: 201 },
  // The workspace of this test has no webhook.
  removeWebhook: { ...owning, owner: 409 },
  rotateWebhookSecret: { ...owning, owner: 409 },
  enableWebhook: { ...owning, owner: 409 },
  sendTestMessage: { ...owning, owner: 409 },

  listConnections: { ...owning, owner: 200 },
  updateConnection: owning,
  revokeConnection: owning,
  listExecutionTokens: { ...owning, owner: 200 },
  createExecutionToken: { ...owning, owner: 201 },
  revokeExecutionToken: owning,

  readApprovalQueue: reading,
  countApprovals: reading,
  listDecidedActions: reading,
  readQueuedBatch: reading,
  decideActions: deciding,
  getPolicy: reading,
  changePolicy: { ...owning, owner: 200 },
  // No policy and no role waits in this test.
  confirmPolicy: { ...owning, owner: 409 },
  cancelPolicy: { ...owning, owner: 409 },
  listAgentActions: reading,
  // The action of this test was not executed.
  undoAction: statuses(409, 409, 403, 403),
  getActionReceipt: reading,
  readAuditLog: deciding,
  verifyAuditLog: deciding,
  exportAuditLog: deciding,
}

const BODIES: Record<string, object> = {
  createWorkspace: { name: 'Another' },
  renameWorkspace: { name: 'Renamed' },
  changeWorkspaceSecurity: { second_factor_required: true },
  changeMemberRole: { role: 'admin' },
  createInvitation: { email: 'new@people.example', role: 'member' },
  answerInvitation: { answer: 'accepted' },
  createAdAccount: { platform_account_id: '42', name: 'A', currency: 'EUR', time_zone: 'UTC' },
  updateAdAccount: { status: 'disabled' },
  chooseOwnTopics: { topics: ['results'] },
  changeTopics: { email_topics: [], webhook_topics: ['results'], digest_minutes: 5 },
  setWebhook: { url: 'https://hooks.example.com/signalbox', format: 'text' },
  updateConnection: { name: 'Renamed' },
  createExecutionToken: { name: 'CI', tier: 'read', days: 30 },
  decideActions: { decision: 'reject', reason: 'Not now.' },
  undoAction: { reason: 'Too early.' },
  confirmPolicy: { version: 1 },
  cancelPolicy: { version: 1 },
  changePolicy: {
    version: 0,
    execution_mode: 'ask',
    limits: {
      change_percent_max: 10,
      change_minor_max: null,
      daily_total_minor_max: null,
      actions_per_day_max: null,
      allowed_types: ['pause'],
      quiet_hours: null,
    },
  },
}

interface Scenario {
  clients: Record<Role, PageClient>
  params: Record<string, string>
}

it('enforces the permission table for every operation and role', async test => {
  const service = await startTestService(test)
  const found: Record<string, Partial<Row>> = {}
  const readers = await createScenario(service)
  for (const { method, url, config } of OPERATIONS) {
    const { operationId } = config
    for (const role of ROLES) {
      // Each role needs a fresh workspace: a change of one must not affect the next.
      const { clients, params } = method === 'GET' ? readers : await createScenario(service)
      const path = `${SESSION_API_PATH}${url}`.replaceAll(
        /:(\w+)/g,
        (_, name) => params[name] ?? '',
      )
      const template = BODIES[operationId]
      const body =
        operationId === 'createExecutionToken' ? withAdAccount(template, params) : template
      const reply = await clients[role].call(method, path, body ? { body } : {})
      found[operationId] = { ...found[operationId], [role]: reply.status }
      assertDescribed(operationId, reply)
    }
  }
  assert.deepEqual(found, ROWS)
})

function withAdAccount(body: object | undefined, { account }: Scenario['params']): object {
  return { ...body, ad_account_id: Number(account) }
}

/** The status and body must conform to the contract. */
function assertDescribed(
  operationId: string,
  { status, body }: { status: number; body: unknown },
): void {
  const operation = OPERATIONS.find(({ config }) => config.operationId === operationId)
  const responses: Record<number, object> = operation?.schema.response ?? {}
  const schema = responses[status]
  assert.ok(schema, `${operationId} does not name ${status}`)
  if (status === 204) assert.equal(body, null)
  else assert.ok(ajv.validate(schema, body), `${operationId} ${status}: ${ajv.errorsText()}`)
}

/** A workspace with a member of each role, and an invited user from another workspace. */
async function createScenario(service: TestService): Promise<Scenario> {
  const { execution, workspace } = await issueAgentTokens(service)
  const { workspaceId, adAccountId, owner } = workspace
  const people: Record<string, TestUser> = { owner }
  for (const role of ['admin', 'member', 'viewer'] as const) {
    const user = await createTestUser(service)
    await addMember(service, { workspaceId, userId: user.userId, role })
    people[role] = user
  }
  const other = await createTestUser(service)
  await addMember(service, { workspaceId, userId: other.userId, role: 'member' })
  const { owner: outsider } = await createTestWorkspace(service)
  const createdAt = service.clock.now()
  const invitation = await upsertInvitation(service.database, {
    id: randomUUID(),
    workspaceId,
    email: outsider.email,
    role: 'member',
    createdAt,
    replaceableRoles: ['member'],
    invitedBy: owner.userId,
    expiresAt: new Date(createdAt.getTime() + 86_400_000),
  })
  const clients = {
    ...(Object.fromEntries(
      Object.entries(people).map(([role, { client }]) => [role, client]),
    ) as Record<(typeof WORKSPACE_ROLES)[number], PageClient>),
    outsider: outsider.client,
    anonymous: new PageClient(service.url),
  }
  const params = {
    session: '999999',
    workspace: String(workspaceId),
    user: String(other.userId),
    account: String(adAccountId),
    invitation: String(invitation),
    ...(await agentParams(service, { workspaceId, adAccountId, execution })),
  }
  return { clients, params }
}

interface Acting {
  workspaceId: number
  adAccountId: number
  execution: string
}

/** A connection, a token, a pending proposal and a blocked action. */
async function agentParams(
  service: TestService,
  { workspaceId, adAccountId, execution: secret }: Acting,
): Promise<Record<string, string>> {
  await seedSimulatedCampaigns(service, adAccountId)
  const path = `/api/v1/agent/workspaces/${workspaceId}/actions`
  const campaign = String(120_200_000_000_000_001n + BigInt(adAccountId) * 1_000n)
  const propose = async (body: object) =>
    (await service.request('POST', path, { secret, body })).body.proposal
  const waiting = await propose(buildBudgetProposal(campaign))
  const blocked = await propose(buildBudgetProposal('999', { idempotency_key: 'key-2' }))
  const idOf = async (table: string) => {
    const text = `select id from ${table} where workspace_id = $1 limit 1`
    return String((await service.database.pool.query(text, [workspaceId])).rows[0].id)
  }
  return {
    connection: await idOf('agent_connections'),
    token: await idOf('execution_tokens'),
    batch: String(waiting.id),
    action: String(blocked.actions[0].id),
  }
}
