import { createHash, randomUUID } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { canonicalJson } from '@signalbox/contract/canonical-json.ts'
import type { AccountOwner } from './account-owner.ts'
import type { AgentClient } from './mcp-clients.ts'

export const TOOLS = [
  'get_account_state',
  'get_signal_health',
  'get_performance',
  'explain_delivery',
  'search_events',
  'verify_signal_ingestion',
  'dry_run_actions',
  'propose-actions',
  'cancel_proposal',
  'list_actions',
  'get_action',
  'get_action_batch',
  'get_action_decision_receipt',
  'get_action_policy',
]

interface Entity {
  type: string
  id: string
  name: string
  status: 'active' | 'paused'
  daily_budget_minor: number | null
}

/** The change that the agent proposes, and the decision of the person. */
export interface Scenario {
  decision: 'approve' | 'reject'
  propose: (entities: Entity[]) => { entity: Entity; change: object; sentence: string }
}

/** A cent more a day on the first campaign that has a budget. */
export const INCREASE_BUDGET: Scenario['propose'] = entities => {
  const entity = findEntity(entities, one => one.type === 'campaign' && !!one.daily_budget_minor)
  const cents = (entity.daily_budget_minor ?? 0) + 1
  const change = { type: 'increase_budget', params: { new_daily_budget_minor: cents } }
  return { entity, change, sentence: 'a cent more a day for a campaign' }
}

/** Pauses the last ad if it is active and resumes it otherwise, so that the scenario can repeat. */
export const TOGGLE_STATUS: Scenario['propose'] = entities => {
  const entity = findEntity(entities.toReversed(), one => one.type === 'ad')
  const type = entity.status === 'active' ? 'pause' : 'resume'
  return { entity, change: { type, params: {} }, sentence: 'another status for an ad' }
}

/** Runs one agent from its first call to the receipt and returns a summary line. */
export async function runScenario(
  agent: AgentClient,
  person: AccountOwner,
  plot: Scenario,
): Promise<string> {
  expectEqual('the tools', await agent.listTools(), TOOLS)
  const early = await agent.call('get_performance')
  expectEqual('a call before get_account_state is refused', early.isError, true)
  const entities = await readEverything(agent)
  const { entity, change, sentence } = plot.propose(entities)
  const proposal = await propose(agent, { ...change, target_entity: target(entity) })
  await person.decide(proposal.inbox_url, plot.decision, `Decided in the story: ${plot.decision}.`)
  const batch = (await callTool(agent, 'get_action_batch', { batch_id: proposal.id })).batch
  const [action] = batch.actions
  const isApproved = plot.decision === 'approve'
  expectEqual('the status of the action', action.status, isApproved ? 'verified' : 'rejected')
  await readReceipt(agent, action)
  const after = await readEntity(agent, entity)
  const isDone = canonicalJson(after) === canonicalJson(action.proposed)
  expectEqual('the entity is as proposed', isDone, isApproved)
  return `${sentence}: ${OUTCOMES[plot.decision]}`
}

const OUTCOMES = {
  approve: 'approved, carried out and verified',
  reject: 'rejected, and nothing changed',
}

/** Calls every read-only tool, and returns the entities that can be changed. */
async function readEverything(agent: AgentClient): Promise<Entity[]> {
  const state = await callTool(agent, 'get_account_state')
  expectEqual('the ad account is simulated', state.ad_account.is_simulated, true)
  const { policy } = await callTool(agent, 'get_action_policy')
  expectEqual('people decide', policy.execution_mode, 'ask')
  await callTool(agent, 'get_signal_health')
  const performance = await callTool(agent, 'get_performance', { days: 30 })
  expectEqual('the sources are told apart', performance.ledger.source, 'signalbox_ledger')
  const { verifications } = await callTool(agent, 'verify_signal_ingestion')
  expectEqual('events are stored', verifications[0]?.is_stored, true)
  await callTool(agent, 'list_actions', { page: 1 })
  return state.entities
}

async function propose(agent: AgentClient, change: object) {
  const actions = [{ ...change, rationale: 'The story wants it.' }]
  const { dry_run } = await callTool(agent, 'dry_run_actions', { actions })
  expectEqual('a person is needed', dry_run.actions[0].policy_decision, 'require_approval')
  const body = {
    actions,
    rationale: 'A story of one agent and one person.',
    idempotency_key: randomUUID(),
    evidence: [{ source_tool: 'get_account_state', fields_used: ['entities'] }],
    target_source: 'human_supplied',
  }
  const { proposal } = await callTool(agent, 'propose-actions', body)
  const again = await callTool(agent, 'propose-actions', body)
  expectEqual('the same key is the same proposal', again.proposal.id, proposal.id)
  expectEqual('it waits', proposal.status, 'pending_approval')
  return proposal
}

/** The digest covers the canonical document, so that anyone can recompute it. */
async function readReceipt(agent: AgentClient, action: { id: number; status: string }) {
  const named = { action_id: action.id }
  const { action: read } = await callTool(agent, 'get_action', named)
  expectEqual('one action and its proposal say the same', read.status, action.status)
  const receipt = await callTool(agent, 'get_action_decision_receipt', named)
  const digest = createHash('sha256').update(canonicalJson(receipt.document)).digest('hex')
  expectEqual('the digest of the receipt', receipt.document_sha256, digest)
  expectEqual('the outcome of the receipt', receipt.disposition.outcome_status, action.status)
}

async function readEntity(agent: AgentClient, { type, id }: Entity): Promise<Entity> {
  const { entities } = await callTool(agent, 'get_account_state')
  return findEntity(entities, one => one.type === type && one.id === id)
}

async function callTool(agent: AgentClient, name: string, given: object = {}) {
  const { isError, text, content } = await agent.call(name, given)
  if (isError) throw new Error(`${name} was refused: ${text}`)
  expectEqual(`the text of ${name}`, JSON.parse(text), content)
  return content
}

function findEntity(entities: Entity[], isIt: (entity: Entity) => boolean): Entity {
  const entity = entities.find(isIt)
  if (!entity) throw new Error('the ad account has no such entity')
  return entity
}

function target({ type, id, name }: Entity) {
  return { type, id, name }
}

/** Throws with the expected and the actual value when they differ, which ends the scenario. */
export function expectEqual(what: string, found: unknown, expected: unknown): void {
  if (isDeepStrictEqual(found, expected)) return
  throw new Error(`${what}: ${JSON.stringify(found)} instead of ${JSON.stringify(expected)}`)
}
