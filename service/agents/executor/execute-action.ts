import type { ActionOutcome, EntityState } from '@signalbox/contract/agents/actions.ts'
import type { Transaction } from '../../runtime/db/database.ts'
import type { ProposalContext } from '../agents-context.ts'
import {
  type ActionPreconditions,
  exceededLimits,
  isStale,
  lockPreconditions,
  reevaluateActions,
} from '../approvals/action-preconditions.ts'
import type { EntityChange } from '../campaigns/campaign-api.ts'
import type { Evaluation } from '../policy/evaluate-action.ts'
import { NO_TARGETS, readTargetStates, type TargetStates } from '../proposals/account-history.ts'
import { type Action, type ActionTransition, hasFailedBatch } from '../proposals/action.ts'
import {
  findActionsOfBatch,
  getAction,
  lockActions,
  recordChangeRequest,
} from '../proposals/action-store.ts'
import { type TransitionInput, transitionAction } from '../proposals/transition-action.ts'

export type ExecutionContext = Pick<ProposalContext, 'database' | 'now' | 'audit' | 'campaigns'>

export const SYSTEM = { type: 'system', id: null } as const

/**
 * Changes the entity of an action that is `executing`. Commits the request, asks the platform
 * outside of any transaction, and commits the answer. An interrupted execution sends the same
 * request again: its key makes the change happen at most once. Returns an action in any other
 * status unchanged.
 */
export async function executeAction(context: ExecutionContext, actionId: number): Promise<Action> {
  const action = await requestChange(context, actionId)
  if (action.status !== 'executing') return action
  const change = { ...toEntityChange(action), at: context.now() }
  const after = await context.campaigns.changeEntity(action.adAccountId, change)
  return settleChange(context, action, after)
}

/**
 * Checks and locks all preconditions and commits the request for the change, or fails the action.
 * Once requested, the change may have been made, so that the preconditions are not checked again.
 */
async function requestChange(context: ExecutionContext, actionId: number): Promise<Action> {
  const { database, now, audit } = context
  const seen = await getAction(database, actionId)
  if (seen.status !== 'executing') return seen
  const targets = seen.changeRequest ? NO_TARGETS : await readCurrentTarget(context, seen)
  return database.query.transaction().execute(async query => {
    const transaction = { query }
    const { action, hasBatchFailed } = await lockWithBatch(transaction, seen)
    if (action.status !== 'executing') return action
    const at = now()
    if (action.changeRequest) {
      return recordChangeRequest(transaction, action, { ...action.changeRequest, at })
    }
    if (hasBatchFailed) {
      return transitionAction(transaction, audit, { action, ...NOT_EXECUTED, at, actor: SYSTEM })
    }
    const preconditions = await lockPreconditions(transaction, action, { at, lock: 'shared' })
    const policyVersion = preconditions.policy.version
    const evaluation = await reevaluate(transaction, action, { preconditions, targets })
    const outcome = findFailure(action, preconditions, { targets, evaluation })
    if (outcome === null) return recordChangeRequest(transaction, action, { policyVersion, at })
    const details = { policy_version: policyVersion }
    const failure = { to: 'failed', outcome, auditAction: 'action.failed', details } as const
    return transitionAction(transaction, audit, { action, ...failure, at, actor: SYSTEM })
  })
}

const NOT_EXECUTED = {
  to: 'failed',
  outcome: 'not_executed',
  auditAction: 'action.failed',
} as const

/**
 * Locks the whole batch of an all-or-nothing action: no change is requested after another action of
 * the batch failed, by this process or another.
 */
async function lockWithBatch(
  transaction: Transaction,
  { id, batchId, isAllOrNothing }: Action,
): Promise<{ action: Action; hasBatchFailed: boolean }> {
  if (!isAllOrNothing) {
    return { action: await lockAction(transaction, id), hasBatchFailed: false }
  }
  const ids = (await findActionsOfBatch(transaction, batchId)).map(other => other.id)
  const actions = await lockActions(transaction, ids)
  const action = actions.find(other => other.id === id)
  if (action) return { action, hasBatchFailed: hasFailedBatch(actions) }
  throw new Error(`there is no action ${id}`)
}

function readCurrentTarget({ campaigns }: ExecutionContext, action: Action): Promise<TargetStates> {
  return readTargetStates(campaigns, action.adAccountId, [action])
}

async function reevaluate(
  transaction: Transaction,
  action: Action,
  input: { preconditions: ActionPreconditions; targets: TargetStates },
): Promise<Evaluation> {
  const evaluations = await reevaluateActions(transaction, [action], input)
  const evaluation = evaluations.get(action.id)
  if (evaluation) return evaluation
  throw new Error(`action ${action.id} was not evaluated`)
}

interface CurrentState {
  targets: TargetStates
  evaluation: Evaluation
}

function findFailure(
  action: Action,
  preconditions: ActionPreconditions,
  { targets, evaluation }: CurrentState,
): ActionOutcome | null {
  if (preconditions.failureOutcome !== null) return preconditions.failureOutcome
  if (isStale(action, targets) || !action.proposed) return 'stale'
  return isStillAllowed(action, preconditions, evaluation) ? null : 'policy_changed'
}

/**
 * An approved action must still be possible and exceed no limit that its approver did not accept;
 * others must still be allowed without approval.
 */
function isStillAllowed(
  { decidedBy, decisionContext }: Action,
  { policy }: ActionPreconditions,
  evaluation: Evaluation,
): boolean {
  const { decision } = evaluation
  if (decidedBy === null) return decision === 'allow'
  if (decision === 'block' || policy.execution_mode === 'suggest_only') return false
  // Approved by an earlier version, which did not record limits.
  if (decisionContext === null) return true
  const { accepted_limits: accepted } = decisionContext
  return exceededLimits(evaluation).every(limit => accepted.includes(limit))
}

/** The same for every repeat. */
function toEntityChange({
  id,
  before: expected,
  proposed: desired,
}: Action): Omit<EntityChange, 'at'> {
  if (expected && desired) return { key: `action-${id}`, expected, desired }
  throw new Error(`action ${id} was requested without a state to change`)
}

/** Commits the answer of the platform; `after` is null if the entity was not as expected. */
async function settleChange(
  context: ExecutionContext,
  { id, adAccountId, target }: Action,
  after: EntityState | null,
): Promise<Action> {
  const { database, now, audit } = context
  const found = after ?? (await readTarget(context, { adAccountId, target }))
  return database.query.transaction().execute(async query => {
    const action = await lockAction({ query }, id)
    if (action.status !== 'executing') return action
    const at = now()
    const settlement = after
      ? { ...EXECUTED, changes: { after, executedAt: at } }
      : resolveStaleAnswer(action, found)
    const version = found?.version ?? null
    const details = {
      policy_version: action.changeRequest?.policyVersion ?? null,
      ...(after ? { version_after: version } : { version_found: version }),
    }
    return transitionAction({ query }, audit, { action, ...settlement, details, at, actor: SYSTEM })
  })
}

type Settlement = ActionTransition & Pick<TransitionInput, 'auditAction' | 'changes'>

const EXECUTED = {
  to: 'executed_pending_verification',
  outcome: null,
  auditAction: 'action.executed',
} as const

/**
 * Nothing was changed if the request was sent once. An earlier attempt may have made the change
 * before another one replaced it; then a user must check.
 */
function resolveStaleAnswer({ changeRequest }: Action, found: EntityState | null): Settlement {
  return changeRequest?.attempts === 1
    ? { to: 'failed', outcome: 'stale', auditAction: 'action.failed' }
    : {
        to: 'execution_uncertain',
        outcome: 'changed_elsewhere',
        auditAction: 'action.uncertain',
        changes: { after: found },
      }
}

export async function lockAction(transaction: Transaction, actionId: number): Promise<Action> {
  const [action] = await lockActions(transaction, [actionId])
  if (action) return action
  throw new Error(`there is no action ${actionId}`)
}

/** Asks the platform, so call it outside of transactions. */
export async function readTarget(
  { campaigns }: ExecutionContext,
  { adAccountId, target }: Pick<Action, 'adAccountId' | 'target'>,
): Promise<EntityState | null> {
  const [found = null] = await campaigns.readEntities(adAccountId, [target])
  return found
}
