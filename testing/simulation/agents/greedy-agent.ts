import type { EntityState } from '@signalbox/contract/agents/actions.ts'
import {
  applyExternalChange,
  insertSimulatedEntities,
} from '../../../service/agents/campaigns/simulated-account-store.ts'
import { submitProposal } from '../../../service/agents/executor/execution-triggers.ts'
import { DAY_SECONDS } from '../../../service/runtime/util/time.ts'
import type { AgentPrincipal } from '../../../service/workspaces/oauth/authenticate-agent.ts'
import {
  type AgentFixture,
  buildProposal,
  createExecutionPrincipal,
} from '../../fixtures/agents.ts'
import { addAdAccount } from '../../fixtures/users.ts'

const CAMPAIGNS = ['910', '920', '930', '940'] as const
export const CONNECTION_BUDGET_MINOR = 10_000
const ACCOUNT = '909'

/** Four campaigns of 100.00 a day, each with an ad set and an ad. */
function buildEntities() {
  const none = { daily_budget_minor: null, status: 'active' } as const
  const account = { ...none, type: 'ad_account', id: ACCOUNT, name: 'Shop' } as const
  return [
    { ...account, parent_type: null, parent_id: null },
    ...CAMPAIGNS.flatMap(id => {
      const [adSet, ad] = [String(Number(id) + 1), String(Number(id) + 2)]
      const budget = { ...none, daily_budget_minor: CONNECTION_BUDGET_MINOR }
      const campaign = { type: 'campaign', id, parent_type: 'ad_account', parent_id: ACCOUNT }
      const set = { type: 'ad_set', id: adSet, parent_type: 'campaign', parent_id: id }
      const leaf = { type: 'ad', id: ad, parent_type: 'ad_set', parent_id: adSet }
      return [
        { ...budget, ...campaign, name: `Campaign ${id}` } as const,
        { ...none, ...set, name: `Ad set ${adSet}` } as const,
        { ...none, ...leaf, name: `Ad ${ad}` } as const,
      ]
    }),
  ] as Parameters<typeof insertSimulatedEntities>[1]['entities']
}

/** What an agent does on one day, at least as much as it may. */
interface Attempt {
  day: number
  campaigns: readonly EntityState[]
}

export interface DayReport extends Attempt {
  /** Proposed actions that were executed without a person. */
  executed: { type: string; changeMinor: number }[]
}

export interface GreedyAgent {
  principal: AgentPrincipal
  /** Proposes these changes one by one, then lets a day pass. */
  runDay(changes: readonly Change[]): Promise<DayReport>
  readCampaigns(): Promise<EntityState[]>
  /** As a person does in the ads manager. */
  resumeElsewhere(): Promise<void>
}

export interface Change {
  type: 'increase_budget' | 'decrease_budget' | 'pause' | 'resume'
  id: string
  budgetMinor?: number
}

/** An agent whose token outlives the year, in an ad account of its own. */
export async function createGreedyAgent(fixture: AgentFixture): Promise<GreedyAgent> {
  const { database, clock, context, workspaceId } = fixture
  const place = { database, clock, url: 'http://127.0.0.1:3000' }
  const adAccountId = await addAdAccount(place, workspaceId, 'Greedy')
  const entities = buildEntities()
  await insertSimulatedEntities(database, { adAccountId, entities, at: clock.now() })
  const principal = await createExecutionPrincipal(fixture, { account: adAccountId })
  await database.pool.query(`update execution_tokens set expires_at = expires_at + '400 days'`)
  const refs = CAMPAIGNS.map(id => ({ type: 'campaign', id }) as const)
  const readCampaigns = () => context.campaigns.readEntities(adAccountId, refs)
  let day = 0
  const runDay = async (changes: readonly Change[]) => {
    const executed: DayReport['executed'] = []
    for (const change of changes) {
      const { result } = await submitProposal(context, principal, toBody(change))
      for (const { policy_decision, policy_evidence, type } of result.proposal.actions) {
        if (policy_decision !== 'allow') continue
        executed.push({ type, changeMinor: policy_evidence.change_minor })
      }
      await rejectPending(fixture, adAccountId)
    }
    const campaigns = await readCampaigns()
    day += 1
    clock.advance(DAY_SECONDS)
    return { day, campaigns, executed }
  }
  const resumeElsewhere = async () => {
    for (const ref of refs) {
      const change = { status: 'active', at: clock.now() } as const
      await applyExternalChange(database, { adAccountId, ...ref }, change)
    }
  }
  return { principal, runDay, readCampaigns, resumeElsewhere }
}

function toBody({ type, id, budgetMinor }: Change) {
  const params = budgetMinor === undefined ? {} : { new_daily_budget_minor: budgetMinor }
  const body = buildProposal({ type, entity: 1 })
  const [action] = body.actions
  const target_entity = { type: 'campaign', id, name: null }
  return { ...body, actions: [{ ...action, params, target_entity }] }
}

/** No person decides: what waits would only fill the queue. */
async function rejectPending({ database }: AgentFixture, adAccountId: number): Promise<void> {
  await database.pool.query(
    `update agent_actions set status = 'rejected', outcome = 'expired'
     where ad_account_id = $1 and status = 'pending'`,
    [adAccountId],
  )
}
