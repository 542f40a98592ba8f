import { type DecisionContext, DecisionSubmission } from '@signalbox/contract/agents/approvals.ts'
import type { AuditAction } from '@signalbox/contract/agents/audit-actions.ts'
import type { Transaction } from '../../runtime/db/database.ts'
import { type FieldErrors, Refusal } from '../../runtime/http/refusal.ts'
import { Validator } from '../../runtime/http/validator.ts'
import { parseRowId } from '../../runtime/util/ids.ts'
import type { CurrentUser } from '../../workspaces/users/session-store.ts'
import { requireRole, requireRoleUnderLock, userActor } from '../../workspaces/users/workspaces.ts'
import type { ProposalContext } from '../agents-context.ts'
import { NO_TARGETS, readTargetStates, type TargetStates } from '../proposals/account-history.ts'
import type { Action, ActionTransition } from '../proposals/action.ts'
import { findActionsOfBatch, lockActions, orderForExecution } from '../proposals/action-store.ts'
import { type TransitionInput, transitionAction } from '../proposals/transition-action.ts'
import {
  type ActionPreconditions,
  findOverrule,
  hasExpired,
  lockPreconditions,
  reevaluateActions,
  resolveApproval,
} from './action-preconditions.ts'
import {
  findApprovalDenial,
  readDecisionContexts,
  requireAcceptedLimits,
} from './decision-context.ts'

/** The user and the unparsed IDs of a request about a batch. */
export interface DecisionRequest {
  user: CurrentUser
  workspaceId: unknown
  batchId: unknown
}

type OperationContext = Pick<ProposalContext, 'database' | 'now' | 'audit' | 'campaigns'>

const decisionValidator = new Validator(DecisionSubmission, { multilineMembers: ['reason'] })

/**
 * Approves or rejects all or some pending actions of a batch, and returns them. An approval that is
 * too late or whose preconditions changed ends the action instead. Nothing is executed here. Throws
 * a Refusal: 403, 404, 409 if nothing is pending, or 422.
 */
export async function decideActions(
  context: OperationContext,
  { user, ...ids }: DecisionRequest,
  body: unknown,
): Promise<Action[]> {
  const { database, now } = context
  const intent = { workspaceId: ids.workspaceId, action: 'decide_actions' } as const
  const { workspaceId } = await requireRole(database, user, intent)
  const decision = decisionValidator.validate(body)
  const batchId = parseRowId(ids.batchId) ?? 0
  const batch = { workspaceId, batchId }
  const selected = await selectActions(database, batch, decision.action_ids)
  const isApproval = decision.decision === 'approve'
  const targets = isApproval ? await readTargets(context, selected) : NO_TARGETS
  return database.query.transaction().execute(async query => {
    const actions = await lockActions(
      { query },
      selected.map(({ id }) => id),
    )
    const pending = actions.filter(({ status }) => status === 'pending')
    const [first] = pending
    if (!first) throw nothingPending(actions)
    const lock = isApproval ? 'exclusive' : 'shared'
    const preconditions = await lockPreconditions({ query }, first, { at: now(), lock })
    const input = { decision, userId: user.userId, at: preconditions.at }
    await requireDecider({ query }, first, input)
    const decided = isApproval
      ? await approve({ query }, pending, { input, preconditions, targets })
      : pending.map(action => reject(action, input))
    const updated: Action[] = []
    for (const transition of decided) {
      updated.push(await transitionAction({ query }, context.audit, transition))
    }
    return updated
  })
}

/** Called before the transaction: the executor compares the entities with the approval again. */
async function readTargets(
  { campaigns }: OperationContext,
  actions: readonly Action[],
): Promise<TargetStates> {
  const pending = actions.filter(({ status }) => status === 'pending')
  const [first] = pending
  return first
    ? readTargetStates(campaigns, first.adAccountId, orderForExecution(pending))
    : NO_TARGETS
}

/** The selected actions of the batch, by default all of them. Throws a Refusal: 404 or 422. */
async function selectActions(
  transaction: Transaction,
  { workspaceId, batchId }: { workspaceId: number; batchId: number },
  actionIds: readonly number[] | undefined,
): Promise<Action[]> {
  const stored = await findActionsOfBatch(transaction, batchId)
  const actions = stored.filter(action => action.workspaceId === workspaceId)
  if (actions.length === 0) throw proposalNotFound()
  const errors: FieldErrors = {}
  actionIds?.forEach((id, index) => {
    if (actions.some(action => action.id === id)) return
    errors[`action_ids.${index}`] = ['The proposal has no action with this id.']
  })
  if (Object.keys(errors).length > 0) throw Refusal.ofFields(errors)
  requireWhole(actions, actionIds)
  return actions.filter(({ id }) => actionIds?.includes(id) ?? true)
}

export function proposalNotFound(): Refusal {
  return Refusal.notFound('There is no such proposal in this workspace.')
}

/** Throws a 422 refusal if only a part of an all-or-nothing proposal is chosen. */
function requireWhole(actions: readonly Action[], actionIds: readonly number[] | undefined): void {
  const isWhole = actions
    .filter(({ status }) => status === 'pending')
    .every(({ id, isAllOrNothing }) => !isAllOrNothing || (actionIds?.includes(id) ?? true))
  if (!isWhole) throw Refusal.ofFields({ action_ids: [ALL_OR_NOTHING] })
}

const ALL_OR_NOTHING =
  'The proposal is all or nothing: the action_ids field must name all of its pending actions, or ' +
  'be omitted.'

function nothingPending(actions: readonly Action[]): Refusal {
  const statuses = [...new Set(actions.map(({ status }) => status.replaceAll('_', ' ')))]
  return new Refusal(409, `Nothing is pending: ${statuses.join(', ')}. Load the proposal again.`)
}

/**
 * Checks the role again under the lock of the workspace, which role changes also take: a user who
 * lost the role must not approve anything.
 */
async function requireDecider(
  transaction: Transaction,
  action: Action,
  { userId, decision, at }: DecisionInput,
): Promise<void> {
  const { workspaceId } = action
  await requireRoleUnderLock(transaction, { workspaceId, userId }, 'decide_actions')
  if (decision.decision === 'reject') return
  const denial = await findApprovalDenial(transaction, action, { userId, at })
  if (denial !== null) throw new Refusal(403, denial)
}

interface DecisionInput {
  decision: DecisionSubmission
  userId: number
  at: Date
}

type DecidedTransition = TransitionInput & { action: Action }

function reject(action: Action, input: DecisionInput): DecidedTransition {
  const outcome = hasExpired(action, input.at) ? 'expired' : null
  const transition = { to: 'rejected', outcome } as const
  const record =
    outcome === null ? recordDecision(transition, input) : recordOverrule(transition, input)
  return { action, ...transition, ...record }
}

interface ApprovalInput {
  input: DecisionInput
  preconditions: ActionPreconditions
  /** As read before the transaction. */
  targets: TargetStates
}

/**
 * Judges every action again. Those whose preconditions changed end; the others count for the day
 * together. An all-or-nothing proposal ends if one of its actions does. Throws a 409 if one of them
 * exceeds a limit that the approver was not shown.
 */
async function approve(
  transaction: Transaction,
  pending: readonly Action[],
  { input, preconditions, targets }: ApprovalInput,
): Promise<DecidedTransition[]> {
  const valid = pending.filter(action => findOverrule(action, preconditions, targets) === null)
  const current = { preconditions, targets }
  const evaluations = await reevaluateActions(transaction, valid, current)
  const possible = valid.filter(({ id }) => evaluations.get(id)?.decision !== 'block')
  const acceptedLimits = input.decision.accepted_limits ?? []
  const isRefused =
    possible.length < pending.length && pending.some(action => action.isAllOrNothing)
  if (!isRefused) requireAcceptedLimits(possible, { evaluations, acceptedLimits })
  const contexts = await readDecisionContexts(transaction, possible, {
    evaluations,
    acceptedLimits,
    at: input.at,
  })
  return pending.map(action => {
    const overrule = findOverrule(action, preconditions, targets)
    const own = overrule ?? resolveApproval(evaluations.get(action.id), preconditions)
    const transition = isRefused && own.outcome === null ? NOT_EXECUTED : own
    const context = contexts.get(action.id) ?? null
    const record =
      transition.outcome === null
        ? recordDecision(transition, input, context)
        : recordOverrule(transition, input)
    return { action, ...transition, ...record }
  })
}

/** For the other actions of an all-or-nothing proposal. */
const NOT_EXECUTED = { to: 'rejected', outcome: 'not_executed' } as const

type RecordedDecision = Pick<
  TransitionInput,
  'at' | 'actor' | 'auditAction' | 'details' | 'changes'
>

function recordDecision(
  { to }: ActionTransition,
  { decision, userId, at }: DecisionInput,
  context: DecisionContext | null = null,
): RecordedDecision {
  return {
    at,
    actor: userActor({ userId }),
    auditAction: to === 'rejected' ? 'action.rejected' : 'action.approved',
    ...(context && { details: toAuditedContext(context) }),
    changes: {
      decidedBy: userId,
      decidedAt: at,
      decisionReason: decision.reason,
      decisionContext: context,
      ...(to === 'executing' && { executionStartedAt: at }),
    },
  }
}

function toAuditedContext({ policy_evidence, policy_reasons, accepted_limits }: DecisionContext) {
  return {
    policy_version: policy_evidence.policy_version,
    reason_codes: policy_reasons.map(({ code }) => code),
    accepted_limits,
  }
}

/** Preconditions overruled the user, so the system is the actor and no user decided. */
function recordOverrule(
  { to }: ActionTransition,
  { decision, userId, at }: DecisionInput,
): RecordedDecision {
  const auditAction: AuditAction = to === 'blocked' ? 'action.blocked' : 'action.rejected'
  const details = { asked_for: decision.decision, asked_by: userId }
  return { at, actor: { type: 'system', id: null }, auditAction, details }
}
