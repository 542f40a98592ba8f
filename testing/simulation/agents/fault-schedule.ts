import type { EXECUTION_MODES } from '@signalbox/contract/agents/policy.ts'
import fc from 'fast-check'
import type { CrashPoint } from '../../crash/crash-injection.ts'
import { CREDENTIALS, type Credential, type ProposedChange } from '../../fixtures/agents.ts'

/** What people, agents, the clock and the platform do, one after the other. */
export type AgentStep =
  | { step: 'propose'; credential: Credential; changes: ProposedChange[]; death: CrashPoint | null }
  /** The last proposal once more, as an agent does that heard no answer. */
  | { step: 'propose again'; death: CrashPoint | null }
  | ({ step: 'decide'; death: CrashPoint | null } & Decision)
  /** At the same time as something else. */
  | ({ step: 'decide and'; other: ConcurrentStep } & Decision)
  | { step: 'expire'; death: CrashPoint | null }
  | { step: 'finish'; death: CrashPoint | null }
  | { step: 'forward'; seconds: number }
  | PolicyStep
  | { step: 'revoke'; credential: Credential }
  | { step: 'rebind' }
  | { step: 'switch account'; isActive: boolean }
  | { step: 'change outside'; entity: Entity; budgetMinor: number }
  | { step: 'fail next'; entity: Entity; fault: 'ignored' | 'altered' }

export interface Decision {
  decider: 'owner' | 'responsible'
  decision: 'approve' | 'reject'
  /** Counted from the newest batch that waits. */
  batch: number
  /** Only the first action of it. */
  isPart: boolean
}

export type ConcurrentStep =
  | 'decide'
  | 'finish'
  | 'expire'
  | 'revoke'
  | 'change policy'
  | 'switch account'
  | 'change outside'

export interface PolicyStep {
  step: 'change policy'
  mode: (typeof EXECUTION_MODES)[number]
  mayPause: boolean
  changeMax: number | null
}

type Entity = ProposedChange['entity']

const HOUR_SECONDS = 3_600
/** Statements of the longest step; a death that comes later does not come. */
const STATEMENTS_MAX = 45

const entity = fc.constantFrom<Entity>(0, 1, 2, 3)
const credential = fc.constantFrom(...CREDENTIALS)
const crashPoint: fc.Arbitrary<CrashPoint | null> = fc.option(
  fc.record({
    at: fc.constantFrom('before statement' as const, 'after statement' as const),
    count: fc.integer({ min: 1, max: STATEMENTS_MAX }),
  }),
)

/** Mostly what can be done: campaigns begin with more than 3,500 and less than 11,000. */
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
  ...(['decide', 'finish', 'expire', 'revoke'] as const),
  ...(['change policy', 'switch account', 'change outside'] as const),
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
  ...[72 * HOUR_SECONDS, 72 * HOUR_SECONDS],
)

const steps: { weight: number; arbitrary: fc.Arbitrary<AgentStep> }[] = [
  {
    weight: 9,
    arbitrary: fc.record({ step: fc.constant('propose'), credential, changes, death: crashPoint }),
  },
  { weight: 1, arbitrary: fc.record({ step: fc.constant('propose again'), death: crashPoint }) },
  {
    weight: 7,
    arbitrary: fc.record({ step: fc.constant('decide'), ...decision, death: crashPoint }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ step: fc.constant('decide and'), ...decision, other: concurrentStep }),
  },
  { weight: 1, arbitrary: fc.record({ step: fc.constant('expire'), death: crashPoint }) },
  { weight: 3, arbitrary: fc.record({ step: fc.constant('finish'), death: crashPoint }) },
  { weight: 4, arbitrary: fc.record({ step: fc.constant('forward'), seconds }) },
  { weight: 2, arbitrary: policy },
  { weight: 1, arbitrary: fc.record({ step: fc.constant('revoke'), credential }) },
  { weight: 1, arbitrary: fc.record({ step: fc.constant('rebind') }) },
  {
    weight: 1,
    arbitrary: fc.record({
      step: fc.constant('switch account'),
      isActive: fc.constantFrom(true, true, false),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      step: fc.constant('change outside'),
      entity,
      budgetMinor: fc.integer({ min: 1_000, max: 20_000 }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      step: fc.constant('fail next'),
      entity,
      fault: fc.constantFrom('ignored', 'altered'),
    }),
  },
]

/** A beginning in which agents may do something, and then whatever may come. */
export const arbitraryAgentSchedule: fc.Arbitrary<AgentStep[]> = fc
  .tuple(policy, fc.array(fc.oneof(...steps), { minLength: 12, maxLength: 30, size: 'max' }))
  .map(([first, others]) => [first, ...others])
