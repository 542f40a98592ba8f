import type { EXECUTION_MODES } from '@signalbox/contract/agents/policy.ts'
import fc from 'fast-check'
import { HOUR_SECONDS } from '../../../service/runtime/util/time.ts'
import type { CrashPoint } from '../../crash/crash-injection.ts'
import { CREDENTIALS, type Credential, type ProposedChange } from '../../fixtures/agents.ts'

/** One step of people, agents, the clock or the platform. */
export type AgentStep =
  | {
      step: 'propose'
      credential: Credential
      changes: ProposedChange[]
      crashPoint: CrashPoint | null
    }
  /** Retries the last proposal, as an agent without a response does. */
  | { step: 'propose again'; crashPoint: CrashPoint | null }
  | ({ step: 'decide'; crashPoint: CrashPoint | null } & Decision)
  /** Concurrently with another step. */
  | ({ step: 'decide concurrently'; other: ConcurrentStep } & Decision)
  | { step: 'expire'; crashPoint: CrashPoint | null }
  | { step: 'resume executions'; crashPoint: CrashPoint | null }
  | { step: 'advance clock'; seconds: number }
  | PolicyStep
  | { step: 'revoke'; credential: Credential }
  | { step: 'change ad account' }
  | { step: 'set account status'; isActive: boolean }
  | { step: 'change externally'; entity: Entity; budgetMinor: number }
  | { step: 'set next fault'; entity: Entity; fault: 'ignored' | 'altered' }

export interface Decision {
  decider: 'owner' | 'responsible'
  decision: 'approve' | 'reject'
  /** Counted from the newest pending batch. */
  batch: number
  /** Decides only the first action. */
  isPart: boolean
}

export type ConcurrentStep =
  | 'decide'
  | 'resume executions'
  | 'expire'
  | 'revoke'
  | 'change policy'
  | 'set account status'
  | 'change externally'

export interface PolicyStep {
  step: 'change policy'
  mode: (typeof EXECUTION_MODES)[number]
  mayPause: boolean
  changeMax: number | null
}

type Entity = ProposedChange['entity']

/** Statements of the longest step; a later crash point is never reached. */
const STATEMENTS_MAX = 60

const entity = fc.constantFrom<Entity>(0, 1, 2, 3)
const credential = fc.constantFrom(...CREDENTIALS)
const crashPoint: fc.Arbitrary<CrashPoint | null> = fc.option(
  fc.record({
    at: fc.constantFrom('before statement' as const, 'after statement' as const),
    count: fc.integer({ min: 1, max: STATEMENTS_MAX }),
  }),
)

/** Mostly valid changes: campaigns start between 3,500 and 11,000. */
const budget = fc.constantFrom<Entity>(1, 2)
const change: fc.Arbitrary<ProposedChange> = fc.oneof(
  fc.record({
    type: fc.constant('increase_budget'),
    entity: budget,
    budgetMinor: fc.integer({ min: 11_000, max: 20_000 }),
  }),
  fc.record({
    type: fc.constant('decrease_budget'),
    entity: budget,
    budgetMinor: fc.integer({ min: 1_000, max: 3_500 }),
  }),
  fc.record({ type: fc.constantFrom('pause', 'pause', 'resume'), entity }),
)
const changes = fc.uniqueArray(change, {
  minLength: 1,
  maxLength: 3,
  selector: proposed => proposed.entity,
})

const decision = {
  decider: fc.constantFrom('owner' as const, 'owner' as const, 'responsible' as const),
  decision: fc.constantFrom('approve' as const, 'approve' as const, 'reject' as const),
  batch: fc.nat({ max: 2 }),
  isPart: fc.boolean(),
}
const concurrentStep = fc.constantFrom<ConcurrentStep>(
  'decide',
  'resume executions',
  'expire',
  'revoke',
  'change policy',
  'set account status',
  'change externally',
)
const policy: fc.Arbitrary<PolicyStep> = fc.record({
  step: fc.constant('change policy'),
  mode: fc.constantFrom('suggest_only', 'ask', 'ask', 'auto_with_limits', 'auto_with_limits'),
  mayPause: fc.constantFrom(true, true, true, false),
  changeMax: fc.constantFrom(null, null, null, 3_000),
})

const seconds = fc.constantFrom(
  61,
  HOUR_SECONDS,
  25 * HOUR_SECONDS,
  72 * HOUR_SECONDS,
  72 * HOUR_SECONDS,
)

const steps: { weight: number; arbitrary: fc.Arbitrary<AgentStep> }[] = [
  {
    weight: 9,
    arbitrary: fc.record({ step: fc.constant('propose'), credential, changes, crashPoint }),
  },
  { weight: 1, arbitrary: fc.record({ step: fc.constant('propose again'), crashPoint }) },
  {
    weight: 7,
    arbitrary: fc.record({ step: fc.constant('decide'), ...decision, crashPoint }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      step: fc.constant('decide concurrently'),
      ...decision,
      other: concurrentStep,
    }),
  },
  { weight: 1, arbitrary: fc.record({ step: fc.constant('expire'), crashPoint }) },
  { weight: 3, arbitrary: fc.record({ step: fc.constant('resume executions'), crashPoint }) },
  { weight: 4, arbitrary: fc.record({ step: fc.constant('advance clock'), seconds }) },
  { weight: 2, arbitrary: policy },
  { weight: 1, arbitrary: fc.record({ step: fc.constant('revoke'), credential }) },
  { weight: 1, arbitrary: fc.record({ step: fc.constant('change ad account') }) },
  {
    weight: 1,
    arbitrary: fc.record({
      step: fc.constant('set account status'),
      isActive: fc.constantFrom(true, true, false),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      step: fc.constant('change externally'),
      entity,
      budgetMinor: fc.integer({ min: 1_000, max: 20_000 }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      step: fc.constant('set next fault'),
      entity,
      fault: fc.constantFrom('ignored', 'altered'),
    }),
  },
]

/** Starts with a policy, then takes arbitrary steps. */
export const arbitraryAgentSchedule: fc.Arbitrary<AgentStep[]> = fc
  .tuple(policy, fc.array(fc.oneof(...steps), { minLength: 12, maxLength: 30, size: 'max' }))
  .map(([first, others]) => [first, ...others])
