import { randomBytes } from 'node:crypto'
import type { EntityState } from '@signalbox/contract/agents/actions.ts'
import type { PolicySubmission } from '@signalbox/contract/agents/policy.ts'
import { simulatedPlatform } from '../service/agents/executor/ad-entity-store.ts'
import {
  type SubmittedProposal,
  submitProposal,
} from '../service/agents/executor/execution-triggers.ts'
import { insertSimulatedEntities } from '../service/agents/executor/simulated-account-store.ts'
import { changePolicy } from '../service/agents/policy/change-policy.ts'
import { DEFAULT_POLICY, readPolicy } from '../service/agents/policy/policy-store.ts'
import type { ProposalContext } from '../service/agents/proposals/agents-context.ts'
import { createAuditTrail } from '../service/audit/audit-store.ts'
import { type AuditKeys, deriveAuditKeys } from '../service/audit/signed-head.ts'
import type { Database } from '../service/db/database.ts'
import { type AgentPrincipal, verifyAgentToken } from '../service/oauth/authenticate-agent.ts'
import type { CurrentPerson } from '../service/people/session-store.ts'
import type { WorkspaceRole } from '../service/people/workspace-role.ts'
import { type AgentTokens, agentTokens } from './agent-tokens.ts'
import { addAdAccount, addMember, personUnderTest } from './people-under-test.ts'
import type { ServiceUnderTest } from './service-under-test.ts'
import { TestClock } from './test-clock.ts'

const CREDENTIAL_KEYS = { current: Buffer.alloc(32, 7), previous: [] }
/** Signs the heads of every stage. */
export const STAGE_KEYS: AuditKeys = deriveAuditKeys(CREDENTIAL_KEYS)
const ORIGIN = 'http://127.0.0.1:3000'

/** A workspace with agents, people and simulated campaigns, without a service around it. */
export interface AgentStage {
  database: Database
  clock: TestClock
  context: ProposalContext
  workspaceId: number
  adAccountId: number
  /** Another one of the workspace, whose entities have the same types and ids. */
  otherAccountId: number
  /** Who answers for every credential. */
  responsible: CurrentPerson
  /** Another owner, unless the stage was made without. */
  owner: CurrentPerson
  tokens: Record<Credential, string>
  /** Transactions in which somebody changed entities who is no agent. */
  outside: Set<string>
}

export const CREDENTIALS = ['connection', 'execution_token'] as const
export type Credential = (typeof CREDENTIALS)[number]

export async function agentStage(
  database: Database,
  { isAlone = false, clock = new TestClock() }: { isAlone?: boolean; clock?: TestClock } = {},
): Promise<AgentStage> {
  const delivery = { credentialKeys: CREDENTIAL_KEYS }
  const place = { database, clock, url: ORIGIN, delivery } as unknown as ServiceUnderTest
  const given: AgentTokens = await agentTokens(place)
  const { workspaceId, adAccountId } = given.workspace
  // As an agent has it that refreshes its token in time.
  await database.pool.query(`update oauth_artifacts set expires_at = expires_at + '60 days'`)
  const otherAccountId = await addAdAccount(place, workspaceId, 'Shop US')
  const now = clock.now
  for (const id of [adAccountId, otherAccountId]) {
    await insertSimulatedEntities(database, { adAccountId: id, entities: ENTITIES, at: now() })
  }
  const context: ProposalContext = {
    ...{ database, now, publicOrigin: () => ORIGIN },
    ...{ audit: createAuditTrail(STAGE_KEYS), platform: simulatedPlatform },
  }
  const stage = { database, clock, context, workspaceId, adAccountId, otherAccountId }
  const responsible = signedIn(given.workspace.owner.userId)
  const owner = isAlone ? responsible : await memberOf(stage, 'owner')
  const tokens = { connection: given.mcp, execution_token: given.execution }
  return { ...stage, responsible, owner, tokens, outside: new Set() }
}

const ENTITY = { parent_type: null, parent_id: null, status: 'active' } as const

/** A campaign has a budget, the ad set of it another, and the ad has none. */
export const ENTITIES = [
  { ...ENTITY, type: 'ad_account', id: '900', name: 'Shop', daily_budget_minor: null },
  { ...ENTITY, type: 'campaign', id: '901', name: 'Autumn', daily_budget_minor: 10_000 },
  { ...ENTITY, type: 'ad_set', id: '902', name: 'Broad', daily_budget_minor: 4_000 },
  { ...ENTITY, type: 'ad', id: '903', name: 'Coat', daily_budget_minor: null },
] as const

/** One more person with a role in the workspace. */
export async function memberOf(
  { database, clock, workspaceId }: Pick<AgentStage, 'database' | 'clock' | 'workspaceId'>,
  role: WorkspaceRole,
): Promise<CurrentPerson> {
  const place = { database, clock, url: ORIGIN }
  const { userId } = await personUnderTest(place)
  await addMember(place, { workspaceId, userId, role })
  return signedIn(userId)
}

function signedIn(userId: number): CurrentPerson {
  const rest = { sessionId: 0, email: 'ada@people.example', name: 'Ada Example' }
  return { userId, ...rest, isEmailVerified: true, mustChangePassword: false }
}

/** Whom a credential of the stage speaks for now. Throws a 401 when it does not hold any more. */
export function principalOf(
  { database, clock, tokens }: AgentStage,
  credential: Credential = 'execution_token',
): Promise<AgentPrincipal> {
  const authorization = `Bearer ${tokens[credential]}`
  const presented = { authorization, audience: 'mcp', origin: ORIGIN, now: clock.now() } as const
  return verifyAgentToken(database, presented)
}

export interface ProposedChange {
  type: 'increase_budget' | 'decrease_budget' | 'pause' | 'resume'
  /** Which of ENTITIES. */
  entity: 0 | 1 | 2 | 3
  budgetMinor?: number
}

/** The body of a proposal, with a key of its own. */
export function proposalOf(...changes: ProposedChange[]) {
  return {
    actions: changes.map(({ type, entity, budgetMinor }) => ({
      type,
      params: budgetMinor === undefined ? {} : { new_daily_budget_minor: budgetMinor },
      target_entity: { type: ENTITIES[entity].type, id: ENTITIES[entity].id, name: null },
      rationale: 'It sells.',
    })),
    rationale: 'More of what sells.',
    idempotency_key: randomBytes(8).toString('hex'),
    evidence: [{ source_tool: 'get_account_state', fields_used: ['entities.0.status'] }],
    target_source: 'human_supplied',
  }
}

/** An agent proposes these changes, and all that needs nobody is carried out. */
export async function propose(
  stage: AgentStage,
  ...changes: ProposedChange[]
): Promise<SubmittedProposal['result']['proposal'] & { batchId: number; actionIds: number[] }> {
  const body = proposalOf(...changes)
  const { result } = await submitProposal(stage.context, await principalOf(stage), body)
  const { proposal } = result
  return { ...proposal, batchId: proposal.id, actionIds: proposal.actions.map(({ id }) => id) }
}

/** An owner changes the policy; what is left out is as in the beginning, without money limits. */
export async function setPolicy(
  { context, workspaceId, responsible: person }: AgentStage,
  execution_mode: PolicySubmission['execution_mode'],
  limits: Partial<PolicySubmission['limits']> = {},
): Promise<void> {
  const { version } = await readPolicy(context.database, workspaceId)
  const body = { version, execution_mode, limits: { ...WIDE, ...limits } }
  await changePolicy(context, { person, workspaceId }, body)
}

const WIDE: PolicySubmission['limits'] = {
  ...DEFAULT_POLICY.limits,
  ...{ change_percent_max: null, change_minor_max: null },
  ...{ daily_total_minor_max: null, actions_per_day_max: null },
}

/** An entity of the stage as the platform has it. */
export async function entityNow(
  { context, database, adAccountId }: AgentStage,
  entity: ProposedChange['entity'],
  account = adAccountId,
): Promise<EntityState> {
  const [found] = await context.platform.readEntities(database, account, [ENTITIES[entity]])
  if (!found) throw new Error(`there is no entity ${entity}`)
  return found
}
