import assert from 'node:assert/strict'
import { it } from 'node:test'
import {
  type AgentFixture,
  buildProposal,
  createAgentFixture,
  createFixtureMember,
  ENTITIES,
  propose,
  readCurrentEntity,
  resolvePrincipal,
  setPolicy,
} from '../../../testing/fixtures/agents.ts'
import { readAuditEntries } from '../../../testing/fixtures/audit.ts'
import {
  APPROVAL,
  createExecutionFixture,
  isRefusal,
  PAUSE,
  RAISE,
} from '../../../testing/fixtures/executions.ts'
import { waitUntil } from '../../../testing/fixtures/wait-until.ts'
import { revokeWorkspaceConnection, updateConnection } from '../../workspaces/oauth/connections.ts'
import { revokeWorkspaceToken } from '../../workspaces/oauth/execution-tokens.ts'
import { setAdAccountStatus } from '../../workspaces/users/ad-account-store.ts'
import type { CurrentUser } from '../../workspaces/users/session-store.ts'
import { lockMembers, updateMemberRole } from '../../workspaces/users/workspace-store.ts'
import { applyExternalChange } from '../campaigns/simulated-account-store.ts'
import { submitProposal } from '../executor/execution-triggers.ts'
import { findReceipt } from '../proposals/receipt-store.ts'
import { decideActions } from './decide-actions.ts'

const REJECT = { decision: 'reject', reason: 'Not this week.' } as const

function decide(
  { context, workspaceId, owner }: AgentFixture,
  batchId: unknown,
  { user = owner, body = APPROVAL }: { user?: CurrentUser; body?: unknown } = {},
) {
  return decideActions(context, { user, workspaceId, batchId }, body)
}

it('executes on approval, ends the action on rejection, and stores the decision', async test => {
  const fixture = await createExecutionFixture(test, 'ask')
  const { batchId, actionIds } = await propose(fixture, RAISE, PAUSE)
  const [first, second] = actionIds
  const part = { ...APPROVAL, action_ids: [first] }
  const [approved, ...others] = await decide(fixture, batchId, { body: part })
  assert.equal(others.length, 0)
  assert.equal(approved?.status, 'executing')
  assert.deepEqual(approved.executionStartedAt, fixture.clock.now())
  const [rejected] = await decide(fixture, batchId, { body: REJECT, user: fixture.responsible })
  assert.deepEqual(
    [rejected?.id, rejected?.status, rejected?.outcome, rejected?.decisionReason],
    [second, 'rejected', null, REJECT.reason],
  )
  assert.equal(rejected?.decidedBy, fixture.responsible.userId)
  const told = await readAuditEntries(fixture.database, fixture.workspaceId)
  assert.deepEqual(
    told.slice(-2).map(({ action, actor, subject }) => [action, actor.id, subject.id]),
    [
      ['action.approved', String(fixture.owner.userId), String(first)],
      ['action.rejected', String(fixture.responsible.userId), String(second)],
    ],
  )
  // The log, which is never deleted, does not contain text that people write.
  assert.doesNotMatch(JSON.stringify(told), /worth it|this week/)
})

it('approves without execution in suggest_only', async test => {
  const fixture = await createExecutionFixture(test, 'ask')
  await setPolicy(fixture, 'suggest_only')
  const { batchId } = await propose(fixture, RAISE)
  const [action] = await decide(fixture, batchId)
  assert.equal(action?.status, 'approved_without_execution')
  assert.equal(action.executionStartedAt, null)
  assert.equal((await readCurrentEntity(fixture, 1)).version, 1)
})

it('returns 404 for a proposal of another workspace, and for an invalid ID', async test => {
  const fixture = await createExecutionFixture(test, 'ask')
  const other = await createAgentFixture(fixture.database)
  const { batchId } = await propose(other, RAISE)
  for (const id of [batchId, 0, 'x', 2 ** 40, undefined]) {
    await assert.rejects(decide(fixture, id), isRefusal(404))
  }
  await assert.rejects(decide(other, batchId, { user: fixture.owner }), isRefusal(404))
})

it('returns 403 for a member, and for the proposer if there is another owner', async test => {
  const fixture = await createExecutionFixture(test, 'ask')
  const { batchId } = await propose(fixture, RAISE)
  const member = await createFixtureMember(fixture, 'member')
  await assert.rejects(decide(fixture, batchId, { user: member }), isRefusal(403, /role/))
  const own = { user: fixture.responsible }
  await assert.rejects(decide(fixture, batchId, own), isRefusal(403, /your own credential/))
  const admin = await createFixtureMember(fixture, 'admin')
  const [action] = await decide(fixture, batchId, { user: admin })
  assert.equal(action?.status, 'executing')
})

it('lets the only owner approve a proposal of their own credential', async test => {
  const fixture = await createExecutionFixture(test, 'ask', { isAlone: true })
  await createFixtureMember(fixture, 'member')
  const { batchId } = await propose(fixture, RAISE)
  const [action] = await decide(fixture, batchId)
  assert.equal(action?.status, 'executing')
})

it('returns 409 with the statuses if nothing is pending', async test => {
  const fixture = await createExecutionFixture(test, 'ask')
  const { batchId, actionIds } = await propose(fixture, RAISE, PAUSE)
  await decide(fixture, batchId, { body: { ...REJECT, action_ids: [actionIds[0]] } })
  const again = { ...APPROVAL, action_ids: [actionIds[0]] }
  await assert.rejects(decide(fixture, batchId, { body: again }), isRefusal(409, /rejected/))
  const [rest] = await decide(fixture, batchId)
  assert.equal(rest?.id, actionIds[1])
})

it('returns 422 naming every invalid field, and each action of another proposal', async test => {
  const fixture = await createExecutionFixture(test, 'ask')
  const { batchId, actionIds } = await propose(fixture, RAISE)
  const { actionIds: others } = await propose(fixture, PAUSE)
  const fieldsOf = async (body: unknown) => {
    const refused = await decide(fixture, batchId, { body }).catch(error => error)
    assert.equal(refused.status, 422)
    return Object.keys(refused.errors).toSorted()
  }
  assert.deepEqual(await fieldsOf({ decision: 'maybe', more: 1 }), ['decision', 'more', 'reason'])
  assert.deepEqual(await fieldsOf({ ...APPROVAL, reason: '' }), ['reason'])
  const ids = { ...APPROVAL, action_ids: [actionIds[0], others[0]] }
  assert.deepEqual(await fieldsOf(ids), ['action_ids.1'])
})

it('accepts one of two concurrent decisions and returns 409 to the other', async test => {
  const fixture = await createExecutionFixture(test, 'ask')
  const user = await createFixtureMember(fixture, 'admin')
  for (let round = 0; round < 5; round += 1) {
    const { batchId, actionIds } = await propose(fixture, PAUSE, RAISE)
    const answers = await Promise.allSettled([
      decide(fixture, batchId, { body: REJECT }),
      decide(fixture, batchId, { user, body: round % 2 === 0 ? APPROVAL : REJECT }),
    ])
    const [accepted] = answers.filter(answer => answer.status === 'fulfilled')
    const [refused] = answers.filter(answer => answer.status === 'rejected')
    assert.equal(accepted?.value.length, 2)
    assert.equal(refused?.reason.status, 409)
    const entries = await readAuditEntries(fixture.database, fixture.workspaceId)
    const ofFirst = entries.filter(({ subject }) => subject.id === String(actionIds[0]))
    assert.equal(ofFirst.filter(({ subject }) => subject.type === 'action').length, 2)
  }
})

/** Changes after the proposal, and the resulting status and outcome of an approval. */
const ENDINGS: Record<string, [(fixture: AgentFixture) => Promise<unknown>, string, string]> = {
  'after 72 hours': [async fixture => fixture.clock.advance(72 * 3_600), 'rejected', 'expired'],
  'of a changed entity': [changeName, 'rejected', 'stale'],
  'of a revoked token': [
    // The database has one token.
    fixture => revokeWorkspaceToken(fixture.context, { ...ownerOf(fixture), tokenId: 1 }),
    'rejected',
    'proposer_revoked',
  ],
  'for a proposer who is no longer an owner': [
    ({ database, workspaceId, responsible: { userId } }) =>
      updateMemberRole(database, { workspaceId, userId }, 'admin'),
    'rejected',
    'proposer_revoked',
  ],
  'for a disabled ad account': [
    ({ database, ...fixture }) => setAdAccountStatus(database, fixture, 'disabled'),
    'rejected',
    'account_changed',
  ],
  'of a type that is no longer allowed': [
    fixture => setPolicy(fixture, 'ask', { allowed_types: ['pause'] }),
    'blocked',
    'policy_changed',
  ],
}

function changeName({ database, adAccountId, clock }: AgentFixture) {
  const place = { adAccountId, ...ENTITIES[1] }
  return applyExternalChange(database, place, { name: 'Winter', at: clock.now() })
}

function ownerOf({ owner: user, workspaceId }: AgentFixture) {
  return { user, workspaceId }
}

for (const [when, [change, status, outcome]] of Object.entries(ENDINGS)) {
  it(`ends the action as ${outcome} on approval ${when}`, async test => {
    const fixture = await createExecutionFixture(test, 'ask')
    const { batchId, actionIds } = await propose(fixture, RAISE)
    await change(fixture)
    const [action] = await decide(fixture, batchId)
    assert.deepEqual([action?.status, action?.outcome], [status, outcome])
    assert.equal(action?.decidedBy, null)
    const [entry] = (await readAuditEntries(fixture.database, fixture.workspaceId)).slice(-1)
    assert.equal(entry?.actor.type, 'system')
    assert.deepEqual(entry.details.asked_by, fixture.owner.userId)
    const name = { workspaceId: fixture.workspaceId, actionId: actionIds[0] ?? 0 }
    assert.ok(await findReceipt(fixture.database, name))
  })
}

it('ends actions of a connection that was revoked or moved to another ad account', async test => {
  const fixture = await createExecutionFixture(test, 'ask')
  const { context, otherAccountId } = fixture
  const outcomeAfter = async (credential: AgentFixture, change: () => Promise<void>) => {
    const principal = await resolvePrincipal(credential, 'connection')
    const { result } = await submitProposal(context, principal, buildProposal(RAISE))
    await change()
    const request = { user: credential.owner, workspaceId: credential.workspaceId }
    const [action] = await decideActions(
      context,
      { ...request, batchId: result.proposal.id },
      APPROVAL,
    )
    return action?.outcome
  }
  const connection = { ...ownerOf(fixture), connectionId: 1 }
  const move = () => updateConnection(context, connection, { ad_account_id: otherAccountId })
  assert.equal(await outcomeAfter(fixture, move), 'proposer_revoked')
  const other = await createAgentFixture(fixture.database)
  await setPolicy(other, 'ask')
  const { rows } = await fixture.database.pool.query(
    'select min(id) as id from agent_connections where workspace_id = $1',
    [other.workspaceId],
  )
  const revoke = () =>
    revokeWorkspaceConnection(context, { ...ownerOf(other), connectionId: rows[0].id })
  assert.equal(await outcomeAfter(other, revoke), 'proposer_revoked')
})

it('returns 403 to a person who loses their role during the decision', async test => {
  const fixture = await createExecutionFixture(test, 'ask')
  const { database, workspaceId, owner } = fixture
  const { batchId } = await propose(fixture, RAISE)
  const demoted = Promise.withResolvers<void>()
  const isWaiting = Promise.withResolvers<void>()
  const change = database.query.transaction().execute(async query => {
    await lockMembers({ query }, workspaceId)
    await updateMemberRole({ query }, { workspaceId, userId: owner.userId }, 'member')
    isWaiting.resolve()
    await demoted.promise
  })
  await isWaiting.promise
  const refusal = assert.rejects(decide(fixture, batchId), isRefusal(403, /role/))
  // The first role check passed; the decision waits for the workspace lock.
  await waitUntil('the decision waits', async () => {
    const { rows } = await database.pool.query(
      `select 1 from pg_stat_activity
       where datname = current_database() and wait_event_type = 'Lock'`,
    )
    return rows.length === 1
  })
  demoted.resolve()
  await change
  await refusal
})
