import assert from 'node:assert/strict'
import { it, type TestContext } from 'node:test'
import type { PolicySubmission } from '@signalbox/contract/agents/policy.ts'
import {
  createAgentFixture,
  createFixtureMember,
  NO_CEILINGS,
  propose,
} from '../../../testing/fixtures/agents.ts'
import { readAuditEntries } from '../../../testing/fixtures/audit.ts'
import { createTestDatabase } from '../../../testing/fixtures/database.ts'
import { APPROVAL, isRefusal } from '../../../testing/fixtures/executions.ts'
import type { Refusal } from '../../runtime/http/refusal.ts'
import { HOUR_SECONDS } from '../../runtime/util/time.ts'
import { composeDigests } from '../../workspaces/notifications/digest.ts'
import type { CurrentUser } from '../../workspaces/users/session-store.ts'
import { decideActions } from '../approvals/decide-actions.ts'
import { runExecution } from '../executor/execution-triggers.ts'
import { changePolicy } from './change-policy.ts'
import { cancelPendingPolicy, confirmPendingPolicy, readPolicyView } from './pending-policy.ts'
import { DEFAULT_POLICY, savePolicy } from './policy-store.ts'

const ASK = { ...DEFAULT_POLICY, version: 1, execution_mode: 'ask' } as const
const { currency_limits: _, ...DEFAULT_LIMITS } = DEFAULT_POLICY.limits
const WIDE: PolicySubmission['limits'] = {
  ...DEFAULT_LIMITS,
  ...NO_CEILINGS,
  change_percent_max: null,
  change_minor_max: null,
  daily_total_minor_max: null,
  actions_per_day_max: null,
}
const AUTO = { version: 1, execution_mode: 'auto_with_limits', limits: WIDE } as const
/** From 100.00 to 10,000.00 a day. */
const RAISE = { type: 'increase_budget', entity: 1, budgetMinor: 1_000_000 } as const

/** Two owners for 30 days, in mode ask; `responsible` has the agent's credentials. */
async function stage(test: TestContext, options: { isAlone?: boolean } = {}) {
  const { database } = await createTestDatabase(test)
  const fixture = await createAgentFixture(database, options)
  const { workspaceId, responsible, context: base } = fixture
  const context = { ...base, settings: { policyWaitHours: 24 } }
  const saved = { workspaceId, changedBy: responsible.userId, changedAt: context.now() }
  await savePolicy(database, { ...ASK, ...saved })
  const as = (user: CurrentUser) => ({ user, workspaceId })
  const change = (body: unknown, user = responsible) => changePolicy(context, as(user), body)
  const confirm = (user: CurrentUser, version = 3) =>
    confirmPendingPolicy(context, as(user), { version })
  const cancel = (user: CurrentUser, version = 3) =>
    cancelPendingPolicy(context, as(user), { version })
  const view = (user = responsible) => readPolicyView(context, { workspaceId, userId: user.userId })
  return { ...fixture, context, change, confirm, cancel, view }
}

/** As after an hour without confirming the identity. */
function stale(user: CurrentUser, now: Date): CurrentUser {
  return { ...user, authenticatedAt: new Date(now.getTime() - HOUR_SECONDS * 1_000) }
}

it('moves no money by a policy that one owner loosens alone', async test => {
  const stand = await stage(test)
  await stand.change(AUTO)
  const proposal = await propose(stand, RAISE)
  assert.equal(proposal.actions[0]?.policy_decision, 'require_approval')
  const decision = { user: stand.responsible, workspaceId: stand.workspaceId }
  const approval = { ...decision, batchId: proposal.batchId }
  await assert.rejects(decideActions(stand.context, approval, APPROVAL), isRefusal(403, /own/))
  // Setting it back hides nothing: the log and every owner know.
  const { pending } = await stand.change({ ...AUTO, version: 2, execution_mode: 'ask' })
  assert.equal(pending?.execution_mode, 'ask')
})

it('applies the stricter part at once and the looser part after the wait', async test => {
  const stand = await stage(test)
  const limits = { ...WIDE, actions_per_day_max: 1 }
  const { policy, pending } = await stand.change({ ...AUTO, limits })
  assert.equal(policy.execution_mode, 'ask')
  assert.deepEqual(policy.limits, { ...DEFAULT_POLICY.limits, actions_per_day_max: 1 })
  assert.equal(policy.version, 2)
  assert.deepEqual(pending?.limits, { ...limits, currency_limits: [] })
  stand.clock.advance(24 * HOUR_SECONDS - 1)
  assert.equal((await stand.view()).policy.execution_mode, 'ask')
  stand.clock.advance(1)
  const after = await stand.view()
  assert.equal(after.pending, null)
  assert.deepEqual([after.policy.version, after.policy.execution_mode], [3, 'auto_with_limits'])
  const proposal = await propose(stand, RAISE)
  assert.equal(proposal.actions[0]?.policy_decision, 'allow')
})

it('waits for each field that permits more, and for none that permits less', async test => {
  const stand = await stage(test)
  const strict = {
    ...DEFAULT_POLICY.limits,
    allowed_types: ['pause'],
    quiet_hours: { from: '20:00', until: '08:00' },
    currency_limits: [{ currency: 'EUR', change_minor_max: 100, daily_total_minor_max: 100 }],
  } as PolicySubmission['limits']
  const tight = await stand.change({ version: 1, execution_mode: 'ask', limits: strict })
  assert.equal(tight.pending, null)
  const looser: Partial<PolicySubmission['limits']>[] = [
    { change_percent_max: 21 },
    { change_minor_max: null },
    { daily_total_minor_max: 20_001 },
    { weekly_total_minor_max: null },
    { monthly_total_minor_max: 100_001 },
    { entity_budget_times_max: 6 },
    { active_spend_percent_max: 51 },
    { actions_per_day_max: 11 },
    { allowed_types: ['pause', 'resume'] },
    { quiet_hours: { from: '20:00', until: '07:59' } },
    { quiet_hours: null },
    { currency_limits: [] },
  ]
  let { version } = tight.policy
  for (const limits of looser) {
    const body = { version, execution_mode: 'ask', limits: { ...strict, ...limits } }
    const { policy, pending } = await stand.change(body)
    assert.ok(pending, JSON.stringify(limits))
    const {
      currency_limits: [own],
    } = policy.limits
    assert.deepEqual([own?.change_minor_max, policy.limits.allowed_types], [100, ['pause']])
    version = policy.version
  }
})

it('replaces a waiting policy by the next one, which waits from then on', async test => {
  const stand = await stage(test)
  await stand.change(AUTO)
  stand.clock.advance(23 * HOUR_SECONDS)
  const { pending } = await stand.change({ ...AUTO, version: 2 })
  assert.equal(pending?.version, 5)
  stand.clock.advance(2 * HOUR_SECONDS)
  assert.equal((await stand.view()).policy.execution_mode, 'ask')
  await assert.rejects(stand.confirm(stand.owner, 3), isRefusal(409, /no longer waits/))
})

it('becomes valid when another owner of 72 hours confirms it', async test => {
  const stand = await stage(test)
  await stand.change(AUTO)
  const shown = await stand.view(stand.owner)
  assert.equal(shown.pending?.may_confirm, true)
  await assert.rejects(stand.confirm(stand.responsible), isRefusal(403, /your own change/))
  const late = stale(stand.owner, stand.clock.now())
  await assert.rejects(stand.confirm(late), isRefusal(403, /Confirm your identity/))
  const { policy } = await stand.confirm(stand.owner)
  assert.deepEqual([policy.version, policy.execution_mode], [3, 'auto_with_limits'])
  const { policy: valid, pending } = await stand.view()
  assert.deepEqual({ policy: valid, pending }, { policy, pending: null })
  const [, entry] = await readAuditEntries(stand.database, stand.workspaceId, 'policy.changed')
  assert.equal(entry?.actor.id, String(stand.owner.userId))
  const { userId } = stand.responsible
  assert.deepEqual(entry?.details.confirms, { version: 3, saved_by: userId })
})

it('is confirmed by no owner of less than 72 hours, admin or stranger', async test => {
  const stand = await stage(test)
  await stand.change(AUTO)
  const young = await createFixtureMember(stand, 'owner')
  await stand.database.pool.query('update members set created_at = $1 where user_id = $2', [
    stand.clock.now(),
    young.userId,
  ])
  await assert.rejects(stand.confirm(young), isRefusal(403, /less than 72 hours/))
  const admin = await createFixtureMember(stand, 'admin')
  await assert.rejects(stand.confirm(admin), { status: 403 })
  await assert.rejects(stand.cancel(admin), { status: 403 })
  const stranger = (await createAgentFixture(stand.database)).owner
  await assert.rejects(stand.confirm(stranger), { status: 404 })
  await assert.rejects(stand.cancel(stranger), { status: 404 })
  for (const body of [{}, { version: 'x' }, { version: 3, note: 'jane@people.example' }]) {
    const request = { user: stand.owner, workspaceId: stand.workspaceId }
    for (const end of [confirmPendingPolicy, cancelPendingPolicy]) {
      await assert.rejects(end(stand.context, request, body), { status: 422 })
    }
  }
})

it('is canceled by any owner, and never becomes valid then', async test => {
  const stand = await stage(test)
  await stand.change(AUTO)
  await stand.cancel(stale(stand.owner, stand.clock.now()))
  stand.clock.advance(25 * HOUR_SECONDS)
  const { policy, pending } = await stand.view()
  assert.deepEqual([policy.execution_mode, pending], ['ask', null])
  const entries = await readAuditEntries(
    stand.database,
    stand.workspaceId,
    'policy.change_canceled',
  )
  assert.deepEqual(entries[0]?.details, { version: 3, saved_by: stand.responsible.userId })
})

it('lets one of two concurrent owners confirm or cancel, and the other one get 409', async test => {
  const stand = await stage(test)
  await stand.change(AUTO)
  const tries = [stand.confirm(stand.owner), stand.cancel(stand.responsible)]
  const results = await Promise.allSettled(tries)
  const statuses = results.map(result =>
    result.status === 'fulfilled' ? 200 : (result.reason as Refusal).status,
  )
  assert.deepEqual(statuses.sort(), [200, 409])
})

it('needs a confirmed identity to permit more, and none to permit less', async test => {
  const stand = await stage(test)
  const user = stale(stand.responsible, stand.clock.now())
  const refused = stand.change(AUTO, user)
  await assert.rejects(refused, isRefusal(403, /Confirm your identity/))
  const limits = { ...DEFAULT_LIMITS, actions_per_day_max: 1 }
  const { policy, pending } = await stand.change({ ...AUTO, execution_mode: 'ask', limits }, user)
  assert.deepEqual([policy.limits.actions_per_day_max, pending], [1, null])
})

it('waits for nobody where nobody else could decide for 72 hours', async test => {
  const stand = await stage(test, { isAlone: true })
  await createFixtureMember(stand, 'member')
  const user = stale(stand.responsible, stand.clock.now())
  await assert.rejects(stand.change(AUTO, user), isRefusal(403, /Confirm your identity/))
  const { policy, pending } = await stand.change(AUTO)
  assert.deepEqual([policy.execution_mode, pending], ['auto_with_limits', null])
})

it('stops what it allowed and another owner cancels before the execution', async test => {
  const stand = await stage(test)
  await stand.change(AUTO)
  stand.clock.advance(24 * HOUR_SECONDS)
  const { id } = await allowWithoutExecuting(stand)
  await stand.change({ ...AUTO, version: 3, execution_mode: 'ask' }, stand.owner)
  const action = await runExecution(stand.context, id)
  assert.deepEqual([action.status, action.outcome], ['failed', 'policy_changed'])
})

/** An action that the policy allows, as after a crash before its execution. */
async function allowWithoutExecuting(stand: Awaited<ReturnType<typeof stage>>) {
  const changeEntity = () => Promise.reject(new Error('the process died'))
  const campaigns = { ...stand.context.campaigns, changeEntity }
  const crashing = { ...stand, context: { ...stand.context, campaigns } }
  await assert.rejects(propose(crashing, RAISE), /process died/)
  const { rows } = await stand.database.pool.query(
    `update agent_actions set change_requested_at = null, change_policy_version = null,
       change_attempts = 0 returning id`,
  )
  return rows[0] as { id: number }
}

it('tells every owner at once, also within the interval of the digests', async test => {
  const stand = await stage(test)
  const admin = await createFixtureMember(stand, 'admin')

  const { database, context, workspaceId } = stand
  const compose = () =>
    composeDigests({ database, now: context.now, publicOrigin: 'https://box.example' })
  // A digest of something else was just made.
  await propose(stand, RAISE)
  await compose()
  await stand.change(AUTO)
  await compose()
  const { rows } = await database.pool.query(
    `select person_id, body from notification_messages where workspace_id = $1
     and body like '%permits agents more%' order by person_id`,
    [workspaceId],
  )
  const told = rows.map(row => row.person_id)
  assert.deepEqual(told, [stand.responsible.userId, stand.owner.userId])
  assert.ok(!told.includes(admin.userId))
})

it('lets a policy that an earlier version of the service saves replace the waiting one', async test => {
  const stand = await stage(test)
  await stand.change(AUTO)
  // It knows one row only: it increments the version and writes what applies at once.
  await stand.database.pool.query(
    `update agent_policies set version = 3, execution_mode = 'suggest_only'`,
  )
  stand.clock.advance(25 * HOUR_SECONDS)
  const { policy, pending } = await stand.view()
  assert.deepEqual([policy.version, policy.execution_mode, pending], [3, 'suggest_only', null])
  const next = await stand.change({ ...AUTO, version: 3 })
  assert.deepEqual([next.policy.version, next.pending?.version], [4, 5])
})
