import type { DryRunResult } from '@signalbox/contract/agents/proposals.ts'
import {
  type AgentPrincipal,
  requirePermission,
} from '../../workspaces/oauth/authenticate-agent.ts'
import type { ProposalContext } from '../agents-context.ts'
import { readPolicy } from '../policy/policy-store.ts'
import {
  combineDecisions,
  type EvaluatedAction,
  evaluateActions,
  readSubmittedTargets,
  toExecutionOrder,
} from './evaluate-actions.ts'
import { listValidEntities } from './valid-entities.ts'
import { validateDryRun } from './validate-proposal.ts'

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
      const policy = await readPolicy({ query }, principal.workspaceId)
      const input = { submissions, targets, account: principal, policy, at: now() }
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
