import { expireApprovals } from '../../../service/agents/approvals/expire-approvals.ts'
import {
  decideAndExecute,
  resumeExecutions,
  submitProposal,
} from '../../../service/agents/executor/execution-triggers.ts'
import {
  applyExternalChange,
  setNextFault,
} from '../../../service/agents/executor/simulated-account-store.ts'
import type { ProposalContext } from '../../../service/agents/proposals/agents-context.ts'
import { Refusal } from '../../../service/http/refusal.ts'
import {
  changeConnectionAdAccount,
  revokeWorkspaceConnection,
} from '../../../service/oauth/connections.ts'
import { revokeWorkspaceToken } from '../../../service/oauth/execution-tokens.ts'
import { setAdAccountStatus } from '../../../service/people/ad-account-store.ts'
import { type CrashPoint, runUntilCrash } from '../../crash/crash-injection.ts'
import {
  type AgentFixture,
  buildProposal,
  type Credential,
  ENTITIES,
  type ProposedChange,
  resolvePrincipal,
  setPolicy,
} from '../../fixtures/agents.ts'
import type { AgentStep, ConcurrentStep, Decision, PolicyStep } from './fault-schedule.ts'

interface Simulation {
  stage: AgentFixture
  connectionString: string
  /** What was proposed last. */
  last: { credential: Credential; body: ReturnType<typeof buildProposal> } | null
  /** For the policy that comes next to something else. */
  turns: number
}

/**
 * Plays the steps, then lets the jobs do what they do until nothing is open. Refusals belong to it;
 * any other failure is thrown, except of those who die.
 */
export async function simulateAgents(
  stage: AgentFixture,
  connectionString: string,
  steps: readonly AgentStep[],
): Promise<void> {
  const rehearsal: Simulation = { stage, connectionString, last: null, turns: 0 }
  for (const step of steps) {
    await runStep(rehearsal, step)
    // So that no two steps are at the same moment.
    stage.clock.advance(1)
  }
  stage.clock.advance(61)
  await resumeExecutions(stage.context)
  stage.clock.advance(73 * 3_600)
  await expireApprovals({ ...stage.context, now: stage.clock.now() })
}

async function runStep(rehearsal: Simulation, step: AgentStep): Promise<void> {
  const { stage } = rehearsal
  switch (step.step) {
    case 'propose':
      rehearsal.last = { credential: step.credential, body: buildProposal(...step.changes) }
      return submit(rehearsal, step.death)
    case 'propose again':
      return submit(rehearsal, step.death)
    case 'decide':
      return runWithCrash(rehearsal, step.death, context => decide(stage, context, step))
    case 'decide and':
      return decideConcurrently(rehearsal, step, step.other)
    case 'expire':
      return runWithCrash(rehearsal, step.death, context =>
        expireApprovals({ ...context, now: context.now() }),
      )
    case 'finish':
      stage.clock.advance(61)
      return runWithCrash(rehearsal, step.death, context => resumeExecutions(context))
    case 'forward':
      return stage.clock.advance(step.seconds)
    case 'change policy':
      return applyPolicyStep(stage, step)
    case 'revoke':
      return ignoreRefusal(revoke(stage, step.credential))
    case 'rebind':
      return ignoreRefusal(rebind(stage))
    case 'switch account':
      return switchAccount(stage, step.isActive)
    case 'change outside':
      return changeEntityExternally(stage, step)
    case 'fail next': {
      const place = { adAccountId: stage.adAccountId, ...ENTITIES[step.entity] }
      await setNextFault(stage.database, place, step.fault)
    }
  }
}

type Operation = (context: ProposalContext) => Promise<unknown>

async function runWithCrash(
  rehearsal: Simulation,
  death: CrashPoint | null,
  act: Operation,
): Promise<void> {
  const { stage, connectionString } = rehearsal
  const deed = death
    ? runUntilCrash(stage, { connectionString, crashPoint: death, operation: act })
    : act(stage.context)
  await ignoreRefusal(deed)
}

async function ignoreRefusal(deed: Promise<unknown>): Promise<void> {
  try {
    await deed
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
  }
}

async function submit(rehearsal: Simulation, death: CrashPoint | null): Promise<void> {
  const { stage, last } = rehearsal
  if (!last) return
  const principal = await resolvePrincipal(stage, last.credential).catch(refused => refused)
  if (principal instanceof Error) return ignoreRefusal(Promise.reject(principal))
  await runWithCrash(rehearsal, death, context => submitProposal(context, principal, last.body))
}

async function decide(stage: AgentFixture, context: ProposalContext, choice: Decision) {
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
async function decideConcurrently(
  rehearsal: Simulation,
  choice: Decision,
  other: ConcurrentStep,
): Promise<void> {
  const { stage } = rehearsal
  rehearsal.turns += 1
  const deeds: Record<ConcurrentStep, () => Promise<unknown>> = {
    decide: () => decide(stage, stage.context, { ...choice, decider: 'owner' }),
    finish: () => resumeExecutions(stage.context),
    expire: () => expireApprovals({ ...stage.context, now: stage.clock.now() }),
    revoke: () => revoke(stage, 'connection'),
    'change policy': () => applyPolicyStep(stage, rehearsal.turns % 2 === 0 ? STRICT : LOOSE),
    'switch account': () => switchAccount(stage, rehearsal.turns % 2 === 0),
    'change outside': () => changeEntityExternally(stage, { entity: 1, budgetMinor: 7_000 }),
  }
  await Promise.all([
    ignoreRefusal(decide(stage, stage.context, choice)),
    ignoreRefusal(deeds[other]()),
  ])
}

const STRICT: PolicyStep = {
  step: 'change policy',
  mode: 'suggest_only',
  mayPause: false,
  changeMax: null,
}
const LOOSE: PolicyStep = { ...STRICT, mode: 'auto_with_limits', mayPause: true }

async function applyPolicyStep(stage: AgentFixture, { mode, mayPause, changeMax }: PolicyStep) {
  const budgets = ['increase_budget', 'decrease_budget', 'resume'] as const
  await setPolicy(stage, mode, {
    allowed_types: [...budgets, ...(mayPause ? (['pause'] as const) : [])],
    change_minor_max: changeMax,
  })
}

async function revoke(stage: AgentFixture, credential: Credential): Promise<void> {
  const { context, workspaceId, owner: person } = stage
  const id = await findCredentialId(stage, credential)
  const visit = { person, workspaceId }
  await (credential === 'connection'
    ? revokeWorkspaceConnection(context, { ...visit, connectionId: id })
    : revokeWorkspaceToken(context, { ...visit, tokenId: id }))
}

async function rebind(stage: AgentFixture): Promise<void> {
  const { context, workspaceId, owner: person, otherAccountId } = stage
  const connectionId = await findCredentialId(stage, 'connection')
  await changeConnectionAdAccount(context, { person, workspaceId, connectionId }, otherAccountId)
}

/** The first of its kind is the one that proposes. */
async function findCredentialId(
  { database, workspaceId }: AgentFixture,
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
  { database, workspaceId, adAccountId }: AgentFixture,
  isActive: boolean,
): Promise<void> {
  const status = isActive ? 'active' : 'disabled'
  await setAdAccountStatus(database, { workspaceId, adAccountId }, status)
}

/** In both ad accounts, and noted as the deed of somebody who is no agent. */
async function changeEntityExternally(
  { database, clock, adAccountId, otherAccountId, externalTransactions: noted }: AgentFixture,
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
