import assert from 'node:assert/strict'
import { it } from 'node:test'
import {
  buildProposal,
  proposeTogether,
  readCurrentEntity,
  resolvePrincipal,
  setPolicy,
} from '../../../testing/fixtures/agents.ts'
import { readAuditEntries } from '../../../testing/fixtures/audit.ts'
import {
  createExecutionFixture,
  isRefusal,
  LESS_AND_MORE,
  PAUSE,
  RAISE,
} from '../../../testing/fixtures/executions.ts'
import { submitProposal } from '../executor/execution-triggers.ts'
import { dryRunActions } from './evaluate-actions.ts'

const [MORE, LESS] = LESS_AND_MORE
const IMPOSSIBLE = { type: 'resume', entity: 3 } as const

it('leaves the whole proposal waiting if one action requires approval', async test => {
  const fixture = await createExecutionFixture(test, 'auto_with_limits')
  await setPolicy(fixture, 'auto_with_limits', { change_minor_max: 1_500 })
  const proposal = await proposeTogether(fixture, ...LESS_AND_MORE)
  assert.equal(proposal.status, 'pending_approval')
  assert.equal(proposal.all_or_nothing, true)
  assert.deepEqual(
    proposal.actions.map(({ policy_decision, policy_reasons }) => [
      policy_decision,
      policy_reasons.map(({ code }) => code),
    ]),
    [
      ['require_approval', ['change_amount_exceeded']],
      ['require_approval', ['all_or_nothing']],
    ],
  )
  assert.equal((await readCurrentEntity(fixture, 2)).version, 1)
  const [entry] = await readAuditEntries(
    fixture.database,
    fixture.workspaceId,
    'proposal.submitted',
  )
  assert.equal(entry?.details.all_or_nothing, true)
})

it('executes all actions if the policy allows all of them', async test => {
  const fixture = await createExecutionFixture(test, 'auto_with_limits')
  const { status, policy_reasons } = await proposeTogether(fixture, ...LESS_AND_MORE)
  assert.deepEqual(
    [status, policy_reasons.map(({ code }) => code)],
    ['completed', ['within_limits']],
  )
})

it('counts the actions together, in the order of their execution', async test => {
  const fixture = await createExecutionFixture(test, 'auto_with_limits')
  await setPolicy(fixture, 'auto_with_limits', { daily_total_minor_max: 2_900 })
  const { actions } = await proposeTogether(fixture, ...LESS_AND_MORE)
  const [more, less] = actions.map(({ policy_evidence, policy_reasons }) => [
    policy_evidence.changed_today_minor,
    policy_reasons[0]?.code,
  ])
  assert.deepEqual(less, [0, 'all_or_nothing'])
  assert.deepEqual(more, [1_000, 'daily_total_exceeded'])
})

it('returns 422 naming every action that is blocked, and stores nothing', async test => {
  const fixture = await createExecutionFixture(test, 'ask')
  const refused = (error: unknown) =>
    isRefusal(422, /all-or-nothing proposal is stored: The entity is already active\./)(error) &&
    Object.keys((error as { errors: object }).errors).join() === 'actions.1'
  await assert.rejects(proposeTogether(fixture, RAISE, IMPOSSIBLE, PAUSE), refused)
  const { rows } = await fixture.database.pool.query('select 1 from agent_batches')
  assert.deepEqual(rows, [])
})

it('previews the decision of the whole, in the order of the submission', async test => {
  const fixture = await createExecutionFixture(test, 'auto_with_limits')
  const principal = await resolvePrincipal(fixture)
  const decisions = async (...changes: Parameters<typeof buildProposal>) => {
    const { actions } = buildProposal(...changes)
    const body = { actions, all_or_nothing: true }
    const { dry_run } = await dryRunActions(fixture.context, principal, body)
    return dry_run.actions.map(action => [
      action.type,
      action.status === 'evaluated' ? action.policy_decision : action.status,
    ])
  }
  assert.deepEqual(await decisions(MORE, LESS), [
    ['increase_budget', 'allow'],
    ['decrease_budget', 'allow'],
  ])
  assert.deepEqual(await decisions(MORE, LESS, IMPOSSIBLE), [
    ['increase_budget', 'block'],
    ['decrease_budget', 'block'],
    ['resume', 'block'],
  ])
})

it('treats false like an omitted member, and true as another proposal', async test => {
  const fixture = await createExecutionFixture(test, 'ask')
  const principal = await resolvePrincipal(fixture)
  const body = buildProposal(...LESS_AND_MORE)
  const submit = (more: object) => submitProposal(fixture.context, principal, { ...body, ...more })
  const { result } = await submit({})
  const again = await submit({ all_or_nothing: false })
  assert.deepEqual([again.isNew, again.result.proposal.id], [false, result.proposal.id])
  await assert.rejects(submit({ all_or_nothing: true }), isRefusal(422, /idempotency_key/))
  await assert.rejects(submit({ all_or_nothing: 'yes' }), isRefusal(422, /all_or_nothing/))
})
