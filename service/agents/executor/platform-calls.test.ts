import assert from 'node:assert/strict'
import { it } from 'node:test'
import {
  type AgentFixture,
  buildProposal,
  propose,
  readCurrentEntity,
  resolvePrincipal,
  setPolicy,
} from '../../../testing/fixtures/agents.ts'
import {
  APPROVAL,
  approveAction,
  changeBudgetExternally,
  createExecutionFixture,
  failNextChange,
  PAUSE,
  RAISE,
} from '../../../testing/fixtures/executions.ts'
import { revokeWorkspaceToken } from '../../workspaces/oauth/execution-tokens.ts'
import { setAdAccountStatus } from '../../workspaces/users/ad-account-store.ts'
import type { ProposalContext } from '../agents-context.ts'
import type { CampaignApi } from '../campaigns/campaign-api.ts'
import { dryRunActions } from '../proposals/evaluate-actions.ts'
import { executeAction } from './execute-action.ts'
import { decideAndExecute, runExecution, submitProposal } from './execution-triggers.ts'

it('fails as stale if the entity changes between the request and the change', async test => {
  const fixture = await createExecutionFixture(test, 'ask')
  const { id } = await approveAction(fixture)
  const { campaigns } = fixture.context
  const changeEntity: CampaignApi['changeEntity'] = async (...change) => {
    await changeBudgetExternally(fixture, 15_000)
    return campaigns.changeEntity(...change)
  }
  const context = { ...fixture.context, campaigns: { ...campaigns, changeEntity } }
  const { status, outcome, after } = await runExecution(context, id)
  assert.deepEqual([status, outcome, after], ['failed', 'stale', null])
  assert.equal((await readCurrentEntity(fixture, 1)).daily_budget_minor, 15_000)
})

/** Changes that revoke a precondition. */
const REVOCATIONS: Record<string, (fixture: AgentFixture) => Promise<unknown>> = {
  'revokes the token': ({ context, workspaceId, owner: user }) =>
    revokeWorkspaceToken(context, { user, workspaceId, tokenId: 1 }),
  'disables the ad account': ({ database, ...name }) =>
    setAdAccountStatus(database, name, 'disabled'),
  'changes the policy': fixture => setPolicy(fixture, 'suggest_only'),
}

for (const [change, revoke] of Object.entries(REVOCATIONS)) {
  it(`does not wait for the platform when an owner ${change}`, async test => {
    const fixture = await createExecutionFixture(test, 'ask')
    const { id } = await approveAction(fixture)
    const { campaigns } = fixture.context
    const changeEntity: CampaignApi['changeEntity'] = async (...given) => {
      await revoke(fixture)
      return campaigns.changeEntity(...given)
    }
    const context = { ...fixture.context, campaigns: { ...campaigns, changeEntity } }
    const { status } = await executeAction(context, id)
    assert.equal(status, 'executed_pending_verification')
  })

  it(`fails if an owner ${change} before the change is requested`, async test => {
    const fixture = await createExecutionFixture(test, 'ask')
    const { id } = await approveAction(fixture)
    const { campaigns } = fixture.context
    const readEntities: CampaignApi['readEntities'] = async (...given) => {
      const found = await campaigns.readEntities(...given)
      await revoke(fixture)
      return found
    }
    const context = { ...fixture.context, campaigns: { ...campaigns, readEntities } }
    assert.equal((await executeAction(context, id)).status, 'failed')
    assert.equal((await readCurrentEntity(fixture, 1)).version, 1)
  })
}

it('calls the platform outside of transactions', async test => {
  const fixture = await createExecutionFixture(test, 'auto_with_limits')
  const calls: string[] = []
  const { campaigns } = fixture.context
  const context: ProposalContext = {
    ...fixture.context,
    campaigns: {
      readEntities: async (...given) => {
        calls.push(`read ${await countTransactions(fixture)}`)
        return campaigns.readEntities(...given)
      },
      listEntities: async (...given) => {
        calls.push(`list ${await countTransactions(fixture)}`)
        return campaigns.listEntities(...given)
      },
      readRelatedEntities: async (...given) => {
        calls.push(`read related ${await countTransactions(fixture)}`)
        return campaigns.readRelatedEntities(...given)
      },
      changeEntity: async (...given) => {
        calls.push(`change ${await countTransactions(fixture)}`)
        return campaigns.changeEntity(...given)
      },
    },
  }
  const principal = await resolvePrincipal(fixture)
  const body = buildProposal(RAISE)
  const { idempotency_key: _, ...dryRun } = body
  await dryRunActions(context, principal, { actions: dryRun.actions })
  // The targets, and the ad account with everything below it.
  const reading = ['read 0', 'list 0', 'read related 0']
  assert.deepEqual(calls.splice(0), reading)
  await dryRunActions(context, principal, {
    actions: [{ ...dryRun.actions[0], target_entity: { type: 'campaign', id: '4' } }],
  })
  assert.deepEqual(calls.splice(0), [...reading, 'list 0'])
  await failNextChange(fixture, 'altered')
  await submitProposal(context, principal, body)
  // Evaluation, precondition, change, verification, rollback, and its verification.
  const execution = [...reading, 'change 0', 'read 0']
  assert.deepEqual(calls.splice(0), [...reading, ...execution, 'change 0', 'read 0'])
  await setPolicy(fixture, 'ask')
  const { batchId } = await propose(fixture, PAUSE)
  const target = { user: fixture.owner, workspaceId: fixture.workspaceId, batchId }
  await decideAndExecute(context, target, APPROVAL)
  assert.deepEqual(calls, [...reading, ...execution])
})

async function countTransactions({ database }: AgentFixture): Promise<number> {
  const { rows } = await database.pool.query(
    `select count(*)::integer as count from pg_stat_activity
     where datname = current_database() and backend_type = 'client backend'
       and pid <> pg_backend_pid() and xact_start is not null`,
  )
  return rows[0].count
}
