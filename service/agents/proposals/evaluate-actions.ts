import type {
  ActionSubmission,
  ActionType,
  PolicyDecision,
  PolicyReason,
} from '@signalbox/contract/agents/actions.ts'
import type { ActionPolicy } from '@signalbox/contract/agents/policy.ts'
import type { DryRunResult } from '@signalbox/contract/agents/proposals.ts'
import type { Transaction } from '../../runtime/db/database.ts'
import {
  type AgentPrincipal,
  requirePermission,
} from '../../workspaces/oauth/authenticate-agent.ts'
import type { ProposalContext } from '../agents-context.ts'
import { type Evaluation, evaluateAction } from '../policy/evaluate-action.ts'
import { WITHIN_LIMITS } from '../policy/policy-reasons.ts'
import { readPolicy } from '../policy/policy-store.ts'
import {
  AccountHistory,
  readSubmittedTargets,
  type TargetStates,
  toPlannedChange,
} from './account-history.ts'
import { INITIAL_STATUS_BY_DECISION, type NewAction } from './action.ts'
import type { AdAccountSettings } from './ad-account-store.ts'
import type { Batch } from './batch-store.ts'
import { describeIgnored, listValidEntities, validateDryRun } from './validate-proposal.ts'

interface EvaluationInput {
  submissions: readonly ActionSubmission[]
  /** Read them before the transaction begins. */
  targets: TargetStates
  account: AdAccountSettings
  policy: ActionPolicy
  at: Date
}

export interface EvaluatedAction {
  submission: ActionSubmission
  evaluation: Evaluation
}

/**
 * Evaluates the actions of one proposal in order, against the current entities and the usage of the
 * local day. Each action counts the earlier ones that are not blocked as executed, so that many
 * small changes cannot exceed the limit of a large one.
 */
export async function evaluateActions(
  transaction: Transaction,
  { submissions, targets, account, policy, at }: EvaluationInput,
): Promise<EvaluatedAction[]> {
  const { adAccountId, timeZone } = account
  const day = { adAccountId, timeZone, at }
  const history = await AccountHistory.read(transaction, day, targets)
  const evaluated: EvaluatedAction[] = []
  for (const submission of submissions) {
    const change = toPlannedChange(submission)
    const { used } = history
    const input = { ...history.contextOf(change), policy, used, account, at }
    const evaluation = evaluateAction(change, input)
    evaluated.push({ submission, evaluation })
    if (evaluation.decision !== 'block') history.add(change, evaluation.changeMinor)
  }
  return evaluated
}

/**
 * The order in which actions are evaluated and executed. What is all or nothing first spends less,
 * so that the account never spends more than before and after.
 */
export function toExecutionOrder(
  submissions: readonly ActionSubmission[],
  isAllOrNothing: boolean,
): ActionSubmission[] {
  const spendsLess = ({ type }: ActionSubmission) => LESS_SPENDING.includes(type)
  if (!isAllOrNothing) return [...submissions]
  return [
    ...submissions.filter(spendsLess),
    ...submissions.filter(submission => !spendsLess(submission)),
  ]
}

const LESS_SPENDING: readonly ActionType[] = ['decrease_budget', 'pause']

export function strictestDecision(evaluated: readonly EvaluatedAction[]): PolicyDecision {
  const decisions = evaluated.map(({ evaluation }) => evaluation.decision)
  if (decisions.includes('block')) return 'block'
  return decisions.includes('require_approval') ? 'require_approval' : 'allow'
}

/** Actions that are executed together have the strictest of their decisions. */
export function combineDecisions(evaluated: readonly EvaluatedAction[]): EvaluatedAction[] {
  const decision = strictestDecision(evaluated)
  if (decision === 'allow') return [...evaluated]
  return evaluated.map(({ submission, evaluation }) => {
    if (evaluation.decision === decision) return { submission, evaluation }
    const own = evaluation.reasons.filter(({ code }) => code !== WITHIN_LIMITS.code)
    const reasons = [...own, COMBINED_REASONS[decision]]
    return { submission, evaluation: { ...evaluation, decision, reasons } }
  })
}

const COMBINED_REASONS: Record<Exclude<PolicyDecision, 'allow'>, PolicyReason> = {
  require_approval: {
    code: 'all_or_nothing',
    message: 'Another action of this all-or-nothing proposal requires approval.',
  },
  block: {
    code: 'all_or_nothing',
    message: 'Another action of this all-or-nothing proposal is blocked.',
  },
}

/** Builds an evaluated action. An allowed action starts executing immediately. */
export function buildNewAction(
  { workspaceId, adAccountId, createdAt }: Batch,
  position: number,
  { submission, evaluation }: EvaluatedAction,
): NewAction {
  const { type, params, rationale, target_entity: target } = submission
  const status = INITIAL_STATUS_BY_DECISION[evaluation.decision]
  return {
    position,
    workspaceId,
    adAccountId,
    type,
    target: { type: target.type, id: target.id, name: target.name ?? null },
    params,
    rationale,
    status,
    policyDecision: evaluation.decision,
    policyReasons: evaluation.reasons,
    policyEvidence: evaluation.evidence,
    before: evaluation.before,
    proposed: evaluation.proposed,
    changeMinor: evaluation.changeMinor,
    executionStartedAt: status === 'executing' ? createdAt : null,
    createdAt,
  }
}

/**
 * Evaluates actions like proposeActions and returns the decisions and changes, without storing
 * anything: the transaction is read-only. Throws a Refusal: 403 without the permission to propose,
 * 422 with every invalid field.
 */
export async function dryRunActions(
  { database, campaigns, now }: ProposalContext,
  principal: AgentPrincipal,
  body: unknown,
): Promise<DryRunResult> {
  requirePermission(principal, 'actions.propose')
  const { actions, all_or_nothing = false } = validateDryRun(body, principal.adAccountId)
  const submissions = toExecutionOrder(actions, all_or_nothing)
  const targets = await readSubmittedTargets(campaigns, principal.adAccountId, submissions)
  const evaluated = await database.query
    .transaction()
    .setIsolationLevel('repeatable read')
    .setAccessMode('read only')
    .execute(async query => {
      const at = now()
      const policy = await readPolicy({ query }, principal.workspaceId, at)
      const input = { submissions, targets, account: principal, policy, at }
      return evaluateActions({ query }, input)
    })
  const results = all_or_nothing ? combineDecisions(evaluated) : evaluated
  const inOrder = results.toSorted(
    (one, other) => actions.indexOf(one.submission) - actions.indexOf(other.submission),
  )
  const outcomes = inOrder.map(({ submission, evaluation }) => ({
    target: submission.target_entity,
    reasons: evaluation.reasons,
  }))
  return {
    dry_run: { actions: inOrder.map(toDryRunAction) },
    ...describeIgnored(body),
    ...(await listValidEntities(campaigns, principal.adAccountId, outcomes)),
  }
}

type DryRunAction = DryRunResult['dry_run']['actions'][number]

function toDryRunAction({ submission, evaluation }: EvaluatedAction): DryRunAction {
  const { type, target_entity } = submission
  const { decision, reasons, before, proposed } = evaluation
  if (!before || !proposed) {
    const reason = reasons.map(({ message }) => message).join(' ')
    return { type, target_entity, status: 'dry_run_unavailable', reason }
  }
  return {
    type,
    target_entity,
    status: 'evaluated',
    policy_decision: decision,
    policy_reasons: reasons,
    approval_required: decision === 'require_approval',
    would_auto_execute: decision === 'allow',
    diff: { before, proposed },
  }
}
