import type { ProposalContext } from '../../../service/agents/agents-context.ts'
import {
  applyExternalChange,
  setNextFault,
} from '../../../service/agents/campaigns/simulated-account-store.ts'
import {
  decideAndExecute,
  resumeExecutions,
  submitProposal,
} from '../../../service/agents/executor/execution-triggers.ts'
import { expireApprovals } from '../../../service/agents/jobs.ts'
import { Refusal } from '../../../service/runtime/http/refusal.ts'
import { HOUR_SECONDS } from '../../../service/runtime/util/time.ts'
import {
  revokeWorkspaceConnection,
  updateConnection,
} from '../../../service/workspaces/oauth/connections.ts'
import { revokeWorkspaceToken } from '../../../service/workspaces/oauth/execution-tokens.ts'
import { setAdAccountStatus } from '../../../service/workspaces/users/ad-account-store.ts'
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
  fixture: AgentFixture
  connectionString: string
  /** The last proposal. */
  last: { credential: Credential; body: ReturnType<typeof buildProposal> } | null
  /** Alternates the policy of concurrent policy changes. */
  policyChanges: number
}

/**
 * Runs the steps, then the jobs until nothing is pending. Refusals are expected; any other error is
 * thrown unless it is an injected crash.
 */
export async function simulateAgents(
  fixture: AgentFixture,
  connectionString: string,
  steps: readonly AgentStep[],
): Promise<void> {
  const simulation: Simulation = { fixture, connectionString, last: null, policyChanges: 0 }
  for (const step of steps) {
    await runStep(simulation, step)
    // No two steps happen at the same moment.
    fixture.clock.advance(1)
  }
  fixture.clock.advance(61)
  await resumeExecutions(fixture.context)
  fixture.clock.advance(73 * HOUR_SECONDS)
  await expireApprovals({ ...fixture.context, now: fixture.clock.now() })
}

async function runStep(simulation: Simulation, step: AgentStep): Promise<void> {
  const { fixture } = simulation
  switch (step.step) {
    case 'propose':
      simulation.last = { credential: step.credential, body: buildProposal(...step.changes) }
      return submit(simulation, step.crashPoint)
    case 'propose again':
      return submit(simulation, step.crashPoint)
    case 'decide':
      return runWithCrash(simulation, step.crashPoint, context => decide(fixture, context, step))
    case 'decide concurrently':
      return decideConcurrently(simulation, step, step.other)
    case 'expire':
      return runWithCrash(simulation, step.crashPoint, context =>
        expireApprovals({ ...context, now: context.now() }),
      )
    case 'resume executions':
      fixture.clock.advance(61)
      return runWithCrash(simulation, step.crashPoint, context => resumeExecutions(context))
    case 'advance clock':
      return fixture.clock.advance(step.seconds)
    case 'change policy':
      return applyPolicyStep(fixture, step)
    case 'revoke':
      return ignoreRefusal(revoke(fixture, step.credential))
    case 'change ad account':
      return ignoreRefusal(changeAdAccount(fixture))
    case 'set account status':
      return setAccountStatus(fixture, step.isActive)
    case 'change externally':
      return changeEntityExternally(fixture, step)
    case 'set next fault': {
      const target = { adAccountId: fixture.adAccountId, ...ENTITIES[step.entity] }
      await setNextFault(fixture.database, target, step.fault)
    }
  }
}

type Operation = (context: ProposalContext) => Promise<unknown>

async function runWithCrash(
  { fixture, connectionString }: Simulation,
  crashPoint: CrashPoint | null,
  operation: Operation,
): Promise<void> {
  const result = crashPoint
    ? runUntilCrash(fixture, { connectionString, crashPoint, operation })
    : operation(fixture.context)
  await ignoreRefusal(result)
}

async function ignoreRefusal(operation: Promise<unknown>): Promise<void> {
  try {
    await operation
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
  }
}

async function submit(simulation: Simulation, crashPoint: CrashPoint | null): Promise<void> {
  const { fixture, last } = simulation
  if (!last) return
  const principal = await resolvePrincipal(fixture, last.credential).catch(refused => refused)
  if (principal instanceof Error) return ignoreRefusal(Promise.reject(principal))
  await runWithCrash(simulation, crashPoint, context =>
    submitProposal(context, principal, last.body),
  )
}

async function decide(fixture: AgentFixture, context: ProposalContext, choice: Decision) {
  const { rows } = await fixture.database.pool.query(
    `select batch_id, min(id) as action_id from agent_actions
     where workspace_id = $1 and status = 'pending' group by batch_id order by batch_id desc`,
    [fixture.workspaceId],
  )
  const pendingBatch = rows[Math.min(choice.batch, rows.length - 1)]
  if (!pendingBatch) return
  const target = { workspaceId: fixture.workspaceId, batchId: pendingBatch.batch_id }
  await decideAndExecute(
    context,
    { ...target, user: fixture[choice.decider] },
    {
      decision: choice.decision,
      reason: 'It is as I want it.',
      ...(choice.isPart && { action_ids: [pendingBatch.action_id] }),
    },
  )
}

/** Runs two operations concurrently, in the order that the store allows. */
async function decideConcurrently(
  simulation: Simulation,
  choice: Decision,
  other: ConcurrentStep,
): Promise<void> {
  const { fixture } = simulation
  simulation.policyChanges += 1
  const operations: Record<ConcurrentStep, () => Promise<unknown>> = {
    decide: () => decide(fixture, fixture.context, { ...choice, decider: 'owner' }),
    'resume executions': () => resumeExecutions(fixture.context),
    expire: () => expireApprovals({ ...fixture.context, now: fixture.clock.now() }),
    revoke: () => revoke(fixture, 'connection'),
    'change policy': () =>
      applyPolicyStep(fixture, simulation.policyChanges % 2 === 0 ? STRICT : LOOSE),
    'set account status': () => setAccountStatus(fixture, simulation.policyChanges % 2 === 0),
    'change externally': () => changeEntityExternally(fixture, { entity: 1, budgetMinor: 7_000 }),
  }
  await Promise.all([
    ignoreRefusal(decide(fixture, fixture.context, choice)),
    ignoreRefusal(operations[other]()),
  ])
}

const STRICT: PolicyStep = {
  step: 'change policy',
  mode: 'suggest_only',
  mayPause: false,
  changeMax: null,
}
const LOOSE: PolicyStep = { ...STRICT, mode: 'auto_with_limits', mayPause: true }

async function applyPolicyStep(fixture: AgentFixture, { mode, mayPause, changeMax }: PolicyStep) {
  const budgets = ['increase_budget', 'decrease_budget', 'resume'] as const
  await setPolicy(fixture, mode, {
    allowed_types: [...budgets, ...(mayPause ? (['pause'] as const) : [])],
    change_minor_max: changeMax,
  })
}

async function revoke(fixture: AgentFixture, credential: Credential): Promise<void> {
  const { context, workspaceId, owner: user } = fixture
  const id = await findCredentialId(fixture, credential)
  const target = { user, workspaceId }
  await (credential === 'connection'
    ? revokeWorkspaceConnection(context, { ...target, connectionId: id })
    : revokeWorkspaceToken(context, { ...target, tokenId: id }))
}

async function changeAdAccount(fixture: AgentFixture): Promise<void> {
  const { context, workspaceId, owner: user, otherAccountId } = fixture
  const connectionId = await findCredentialId(fixture, 'connection')
  await updateConnection(
    context,
    { user, workspaceId, connectionId },
    { ad_account_id: otherAccountId },
  )
}

/** The first credential of its kind is the one that proposes. */
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

async function setAccountStatus(
  { database, workspaceId, adAccountId }: AgentFixture,
  isActive: boolean,
): Promise<void> {
  const status = isActive ? 'active' : 'disabled'
  await setAdAccountStatus(database, { workspaceId, adAccountId }, status)
}

/** Changes the entity in both ad accounts, recording the transactions as external. */
async function changeEntityExternally(
  { database, clock, adAccountId, otherAccountId, externalTransactions }: AgentFixture,
  { entity, budgetMinor }: { entity: ProposedChange['entity']; budgetMinor: number },
): Promise<void> {
  for (const account of [adAccountId, otherAccountId]) {
    const target = { adAccountId: account, ...ENTITIES[entity] }
    const hasBudget = ENTITIES[entity].daily_budget_minor !== null
    const change = hasBudget ? { dailyBudgetMinor: budgetMinor } : { name: 'Renamed' }
    const outcome = await applyExternalChange(database, target, { ...change, at: clock.now() })
    if (typeof outcome === 'string') throw new Error(outcome)
    const { rows } = await database.pool.query(
      `select transaction from recorded_changes
       where ad_account_id = $1 and type = $2 and id = $3 and version_after = $4`,
      [account, target.type, target.id, outcome.changed.version],
    )
    externalTransactions.add(rows[0]?.transaction)
  }
}
