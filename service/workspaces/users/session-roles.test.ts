import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { it } from 'node:test'
import { BROWSER_ACTION_OPERATIONS } from '@signalbox/contract/session/action-operations.ts'
import { BROWSER_AGENT_OPERATIONS } from '@signalbox/contract/session/agent-operations.ts'
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
  ...BROWSER_AGENT_OPERATIONS,
  ...BROWSER_ACTION_OPERATIONS,
] as const

const ROLES = ['owner', 'admin', 'member', 'outsider', 'anonymous'] as const
type Role = (typeof ROLES)[number]
type Row = Record<Role, number>

const signedIn = { owner: 200, admin: 200, member: 200, outsider: 200, anonymous: 401 }
const belonging = { ...signedIn, outsider: 404 }
const managing = { owner: 201, admin: 201, member: 403, outsider: 404, anonymous: 401 }
const owning = { owner: 204, admin: 403, member: 403, outsider: 404, anonymous: 401 }
const deciding = { owner: 200, admin: 200, member: 403, outsider: 404, anonymous: 401 }

/** The expected status of each operation by role. A missing row fails the test. */
const ROWS: Record<string, Row> = {
  getMe: signedIn,
  listSessions: signedIn,
  endSession: { owner: 404, admin: 404, member: 404, outsider: 404, anonymous: 401 },
  endOtherSessions: { owner: 204, admin: 204, member: 204, outsider: 204, anonymous: 401 },
  listWorkspaces: signedIn,
  createWorkspace: { owner: 201, admin: 201, member: 201, outsider: 201, anonymous: 401 },
  renameWorkspace: owning,
  listMembers: belonging,
  changeMemberRole: owning,
  confirmMemberRole: { ...owning, owner: 409 },
  removeMember: { owner: 204, admin: 204, member: 403, outsider: 404, anonymous: 401 },
  listInvitations: { ...belonging, member: 403 },
  createInvitation: managing,
  withdrawInvitation: { owner: 204, admin: 204, member: 403, outsider: 404, anonymous: 401 },
  listMyInvitations: signedIn,
  answerInvitation: { owner: 404, admin: 404, member: 404, outsider: 200, anonymous: 401 },
  listAdAccounts: belonging,
  createAdAccount: managing,
  updateAdAccount: { owner: 204, admin: 204, member: 403, outsider: 404, anonymous: 401 },

  listConnections: { ...owning, owner: 200 },
  updateConnection: owning,
  revokeConnection: owning,
  listExecutionTokens: { ...owning, owner: 200 },
  createExecutionToken: { ...owning, owner: 201 },
  revokeExecutionToken: owning,

  readApprovalQueue: belonging,
  readQueuedBatch: belonging,
  decideActions: deciding,
  getPolicy: belonging,
  changePolicy: { ...owning, owner: 200 },
  // No policy and no role waits in this test.
  confirmPolicy: { ...owning, owner: 409 },
  cancelPolicy: { ...owning, owner: 409 },
  listAgentActions: belonging,
  // The action of this test was not executed.
  undoAction: { ...deciding, owner: 409, admin: 409 },
  getActionReceipt: belonging,
  readAuditLog: deciding,
  verifyAuditLog: deciding,
  exportAuditLog: deciding,
}

const BODIES: Record<string, object> = {
  createWorkspace: { name: 'Another' },
  renameWorkspace: { name: 'Renamed' },
  changeMemberRole: { role: 'admin' },
  createInvitation: { email: 'new@people.example', role: 'member' },
  answerInvitation: { answer: 'accepted' },
  createAdAccount: { platform_account_id: '42', name: 'A', currency: 'EUR', time_zone: 'UTC' },
  updateAdAccount: { status: 'disabled' },
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
  for (const role of ['admin', 'member'] as const) {
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
    ) as Record<'owner' | 'admin' | 'member', PageClient>),
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
