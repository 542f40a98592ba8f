import type {
  CurrentEvaluation,
  DecisionContext,
  OtherPendingAction,
} from '@signalbox/contract/agents/approvals.ts'
import type { AuditAction } from '@signalbox/contract/agents/audit-actions.ts'
import type { LimitCode } from '@signalbox/contract/agents/policy.ts'
import { findEntriesSince } from '../../audit/audit-read-store.ts'
import { parseEntryBody } from '../../audit/read-audit.ts'
import type { Transaction } from '../../runtime/db/database.ts'
import { Refusal } from '../../runtime/http/refusal.ts'
import {
  couldAnotherDecide,
  hasNewDecidingRole,
  hasRecentlyGivenRole,
  startOfStanding,
} from '../../workspaces/users/role-standing.ts'
import type { Evaluation } from '../policy/evaluate-action.ts'
import type { Action } from '../proposals/action.ts'
import { findOtherPendingActions, type PendingAction } from '../proposals/action-list-store.ts'
import { exceededLimits } from './action-preconditions.ts'

interface ContextInput {
  evaluations: ReadonlyMap<number, Evaluation>
  acceptedLimits: readonly LimitCode[]
  at: Date
}

/** What the approver of each action could see, by action ID. */
export async function readDecisionContexts(
  transaction: Transaction,
  actions: readonly Action[],
  { evaluations, acceptedLimits, at }: ContextInput,
): Promise<Map<number, DecisionContext>> {
  const [first] = actions
  if (!first) return new Map()
  const others = await findOtherPendingActions(transaction, actions)
  const entries = await findEntriesSince(transaction, first.workspaceId, governanceFilter(at))
  // Only IDs: receipts are never erased, and names can be looked up.
  const recent_changes = entries.map(entry => ({
    sequence: entry.sequence,
    ...parseEntryBody(entry),
  }))
  const contexts = new Map<number, DecisionContext>()
  for (const action of actions) {
    const evaluation = evaluations.get(action.id)
    if (!evaluation) continue
    contexts.set(action.id, {
      policy_reasons: evaluation.reasons,
      policy_evidence: evaluation.evidence,
      accepted_limits: [...acceptedLimitsOf(action, acceptedLimits)],
      other_pending_actions: others
        .filter(other => isSameTarget(other, action))
        .map(other => toOtherPendingAction(other)),
      recent_changes,
    })
  }
  return contexts
}

function isSameTarget({ target }: PendingAction, action: Action): boolean {
  return target.type === action.target.type && target.id === action.target.id
}

export function toOtherPendingAction(action: PendingAction): OtherPendingAction {
  return {
    action_id: action.id,
    batch_id: action.batchId,
    type: action.type,
    target_entity: action.target,
    change_minor: action.changeMinor,
    created_at: action.createdAt.toISOString(),
  }
}

/**
 * Throws a 409 if an approval would exceed a limit that the approver was not shown: neither named
 * when the action was proposed nor accepted with the decision.
 */
export function requireAcceptedLimits(
  actions: readonly Action[],
  { evaluations, acceptedLimits }: Omit<ContextInput, 'at'>,
): void {
  const sentences = actions.flatMap(action => {
    const accepted = acceptedLimitsOf(action, acceptedLimits)
    const reasons = evaluations.get(action.id)?.reasons ?? []
    const unseen = exceededLimits({ reasons }).filter(limit => !accepted.has(limit))
    return reasons
      .filter(({ code }) => unseen.some(limit => limit === code))
      .map(({ code, message }) => `Action ${action.id} (${code}): ${message}`)
  })
  if (sentences.length === 0) return
  const next =
    'Load the proposal again, and approve it once more if you accept that (accepted_limits).'
  throw new Refusal(409, ['It now exceeds limits.', ...sentences, next].join(' '))
}

function acceptedLimitsOf(
  { policyReasons }: Action,
  acceptedLimits: readonly LimitCode[],
): Set<LimitCode> {
  return new Set([...exceededLimits({ reasons: policyReasons }), ...acceptedLimits])
}

/** The view of an evaluation of a pending action. */
export function toCurrentEvaluation(actionId: number, evaluation: Evaluation): CurrentEvaluation {
  return {
    action_id: actionId,
    policy_decision: evaluation.decision,
    policy_reasons: evaluation.reasons,
    policy_evidence: evaluation.evidence,
    exceeded_limits: exceededLimits(evaluation),
  }
}

/** Changes that decide who may approve what, and what needs approval. */
const GOVERNANCE_ACTIONS: readonly AuditAction[] = [
  'policy.changed',
  'policy.change_canceled',
  'member.added',
  'member.role_changed',
  'member.removed',
  'person.disabled',
  'person.enabled',
]

const GOVERNANCE_ENTRIES_MAX = 100

/** The filter for recent changes of roles and the policy, which an approver is shown. */
export function governanceFilter(at: Date) {
  return {
    actions: GOVERNANCE_ACTIONS,
    since: startOfStanding(at),
    limit: GOVERNANCE_ENTRIES_MAX,
  }
}

/**
 * Why a user may not approve a proposal, as a sentence; null if they may. Two people are needed if
 * another one could decide: not the person behind the proposing credential, nor one who only just
 * got the role or just gave that person theirs. Roles count as they were over the last 72 hours, so
 * that an owner cannot demote the others, approve, and promote them again.
 */
export async function findApprovalDenial(
  transaction: Transaction,
  { workspaceId, proposer }: Pick<Action, 'workspaceId' | 'proposer'>,
  { userId, at }: { userId: number; at: Date },
): Promise<string | null> {
  const member = { workspaceId, userId, at }
  const others = await couldAnotherDecide(transaction, member)
  if (others === null) return null
  if (proposer.userId === userId) {
    const own = proposer.kind === 'person' ? 'your own proposal' : OWN_CREDENTIAL
    return others === 'can' ? othersDecide(own) : othersCouldDecide(own)
  }
  if (await hasNewDecidingRole(transaction, member)) return NEW_DECIDER
  const given = { workspaceId, userId: proposer.userId, by: userId, at }
  return (await hasRecentlyGivenRole(transaction, given)) ? GAVE_ROLE : null
}

const OWN_CREDENTIAL = 'a proposal of your own credential'
const NEW_DECIDER =
  'You became an owner or admin in the last 72 hours, so another one must approve it; you can ' +
  'reject it.'
const GAVE_ROLE =
  'In the last 72 hours you invited the person behind this proposal or gave them their role, so ' +
  'another owner or admin must approve it; you can reject it.'

function othersDecide(own: string): string {
  return `You cannot approve ${own}. Another owner or admin must approve it; you can reject it.`
}

function othersCouldDecide(own: string): string {
  return (
    `You cannot approve ${own}: in the last 72 hours, another owner or admin lost that role. ` +
    'Another owner or admin must approve it; you can reject it.'
  )
}
