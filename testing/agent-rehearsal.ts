import { expireApprovals } from '../service/agents/approvals/expire-approvals.ts'
import {
  decideAndExecute,
  resumeExecutions,
  submitProposal,
} from '../service/agents/executor/execution-triggers.ts'
import {
  applyExternalChange,
  setNextFault,
} from '../service/agents/executor/simulated-account-store.ts'
import type { ProposalContext } from '../service/agents/proposals/agents-context.ts'
import { Refusal } from '../service/http/refusal.ts'
import {
  changeConnectionAdAccount,
  revokeWorkspaceConnection,
} from '../service/oauth/connections.ts'
import { revokeWorkspaceToken } from '../service/oauth/execution-tokens.ts'
import { setAdAccountStatus } from '../service/people/ad-account-store.ts'
import type { AgentStep, Choice, Meanwhile, PolicyStep } from './agent-schedule.ts'
import {
  type AgentStage,
  type Credential,
  ENTITIES,
  type ProposedChange,
  principalOf,
  proposalOf,
  setPolicy,
} from './agent-stage.ts'
import { mortalAct } from './mortal-act.ts'
import type { Death } from './mortal-database.ts'

interface Rehearsal {
  stage: AgentStage
  connectionString: string
  /** What was proposed last. */
  last: { credential: Credential; body: ReturnType<typeof proposalOf> } | null
  /** For the policy that comes next to something else. */
  turns: number
}

/**
 * Plays the steps, then lets the jobs do what they do until nothing is open. Refusals belong to it;
 * any other failure is thrown, except of those who die.
 */
export async function rehearseAgents(
  stage: AgentStage,
  connectionString: string,
  steps: readonly AgentStep[],
): Promise<void> {
  const rehearsal: Rehearsal = { stage, connectionString, last: null, turns: 0 }
  for (const step of steps) {
    await perform(rehearsal, step)
    // So that no two steps are at the same moment.
    stage.clock.forward(1)
  }
  stage.clock.forward(61)
  await resumeExecutions(stage.context)
  stage.clock.forward(73 * 3_600)
  await expireApprovals({ ...stage.context, now: stage.clock.now() })
}

async function perform(rehearsal: Rehearsal, step: AgentStep): Promise<void> {
  const { stage } = rehearsal
  switch (step.step) {
    case 'propose':
      rehearsal.last = { credential: step.credential, body: proposalOf(...step.changes) }
      return submit(rehearsal, step.death)
    case 'propose again':
      return submit(rehearsal, step.death)
    case 'decide':
      return mortally(rehearsal, step.death, context => decide(stage, context, step))
    case 'decide and':
      return decideAnd(rehearsal, step, step.other)
    case 'expire':
      return mortally(rehearsal, step.death, context =>
        expireApprovals({ ...context, now: context.now() }),
      )
    case 'finish':
      stage.clock.forward(61)
      return mortally(rehearsal, step.death, context => resumeExecutions(context))
    case 'forward':
      return stage.clock.forward(step.seconds)
    case 'change policy':
      return changeRules(stage, step)
    case 'revoke':
      return orRefused(revoke(stage, step.credential))
    case 'rebind':
      return orRefused(rebind(stage))
    case 'switch account':
      return switchAccount(stage, step.isActive)
    case 'change outside':
      return outside(stage, step)
    case 'fail next': {
      const place = { adAccountId: stage.adAccountId, ...ENTITIES[step.entity] }
      await setNextFault(stage.database, place, step.fault)
    }
  }
}

type Act = (context: ProposalContext) => Promise<unknown>

async function mortally(rehearsal: Rehearsal, death: Death | null, act: Act): Promise<void> {
  const { stage, connectionString } = rehearsal
  const deed = death ? mortalAct(stage, { connectionString, death, act }) : act(stage.context)
  await orRefused(deed)
}

async function orRefused(deed: Promise<unknown>): Promise<void> {
  try {
    await deed
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
  }
}

async function submit(rehearsal: Rehearsal, death: Death | null): Promise<void> {
  const { stage, last } = rehearsal
  if (!last) return
  const principal = await principalOf(stage, last.credential).catch(refused => refused)
  if (principal instanceof Error) return orRefused(Promise.reject(principal))
  await mortally(rehearsal, death, context => submitProposal(context, principal, last.body))
}

async function decide(stage: AgentStage, context: ProposalContext, choice: Choice) {
  const { rows } = await stage.database.pool.query(
    `select batch_id, min(id) as action_id from agent_actions
     where workspace_id = $1 and status = 'pending' group by batch_id order by batch_id desc`,
    [stage.workspaceId],
  )
  const waiting = rows[Math.min(choice.batch, rows.length - 1)]
  if (!waiting) return
  const visit = { workspaceId: stage.workspaceId, batchId: waiting.batch_id }
  await decideAndExecute(
    context,
    { ...visit, person: stage[choice.decider] },
    {
      decision: choice.decision,
      reason: 'It is as I want it.',
      ...(choice.isPart && { action_ids: [waiting.action_id] }),
    },
  )
}

/** Two at the same time, in the order that the store lets them. */
async function decideAnd(rehearsal: Rehearsal, choice: Choice, other: Meanwhile): Promise<void> {
  const { stage } = rehearsal
  rehearsal.turns += 1
  const deeds: Record<Meanwhile, () => Promise<unknown>> = {
    decide: () => decide(stage, stage.context, { ...choice, decider: 'owner' }),
    finish: () => resumeExecutions(stage.context),
    expire: () => expireApprovals({ ...stage.context, now: stage.clock.now() }),
    revoke: () => revoke(stage, 'connection'),
    'change policy': () => changeRules(stage, rehearsal.turns % 2 === 0 ? STRICT : LOOSE),
    'switch account': () => switchAccount(stage, rehearsal.turns % 2 === 0),
    'change outside': () => outside(stage, { entity: 1, budgetMinor: 7_000 }),
  }
  await Promise.all([orRefused(decide(stage, stage.context, choice)), orRefused(deeds[other]())])
}

const STRICT: PolicyStep = {
  step: 'change policy',
  mode: 'suggest_only',
  mayPause: false,
  changeMax: null,
}
const LOOSE: PolicyStep = { ...STRICT, mode: 'auto_with_limits', mayPause: true }

async function changeRules(stage: AgentStage, { mode, mayPause, changeMax }: PolicyStep) {
  const budgets = ['increase_budget', 'decrease_budget', 'resume'] as const
  await setPolicy(stage, mode, {
    allowed_types: [...budgets, ...(mayPause ? (['pause'] as const) : [])],
    change_minor_max: changeMax,
  })
}

async function revoke(stage: AgentStage, credential: Credential): Promise<void> {
  const { context, workspaceId, owner: person } = stage
  const id = await credentialId(stage, credential)
  const visit = { person, workspaceId }
  await (credential === 'connection'
    ? revokeWorkspaceConnection(context, { ...visit, connectionId: id })
    : revokeWorkspaceToken(context, { ...visit, tokenId: id }))
}

async function rebind(stage: AgentStage): Promise<void> {
  const { context, workspaceId, owner: person, otherAccountId } = stage
  const connectionId = await credentialId(stage, 'connection')
  await changeConnectionAdAccount(context, { person, workspaceId, connectionId }, otherAccountId)
}

/** The first of its kind is the one that proposes. */
async function credentialId(
  { database, workspaceId }: AgentStage,
  credential: Credential,
): Promise<number> {
  const table = credential === 'connection' ? 'agent_connections' : 'execution_tokens'
  const { rows } = await database.pool.query(
    `select min(id) as id from ${table} where workspace_id = $1`,
    [workspaceId],
  )
  return rows[0].id
}

async function switchAccount(
  { database, workspaceId, adAccountId }: AgentStage,
  isActive: boolean,
): Promise<void> {
  const status = isActive ? 'active' : 'disabled'
  await setAdAccountStatus(database, { workspaceId, adAccountId }, status)
}

/** In both ad accounts, and noted as the deed of somebody who is no agent. */
async function outside(
  { database, clock, adAccountId, otherAccountId, outside: noted }: AgentStage,
  { entity, budgetMinor }: { entity: ProposedChange['entity']; budgetMinor: number },
): Promise<void> {
  for (const account of [adAccountId, otherAccountId]) {
    const place = { adAccountId: account, ...ENTITIES[entity] }
    const hasBudget = ENTITIES[entity].daily_budget_minor !== null
    const change = hasBudget ? { dailyBudgetMinor: budgetMinor } : { name: 'Renamed' }
    const outcome = await applyExternalChange(database, place, { ...change, at: clock.now() })
    if (typeof outcome === 'string') throw new Error(outcome)
    const { rows } = await database.pool.query(
      `select transaction from seen_changes
       where ad_account_id = $1 and type = $2 and id = $3 and version_after = $4`,
      [account, place.type, place.id, outcome.changed.version],
    )
    noted.add(rows[0]?.transaction)
  }
}
