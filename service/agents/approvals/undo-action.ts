import { hash } from 'node:crypto'
import type { ActionSubmission, ActionType } from '@signalbox/contract/agents/actions.ts'
import { UndoSubmission } from '@signalbox/contract/agents/approvals.ts'
import { canonicalJson } from '@signalbox/contract/canonical-json.ts'
import type { Transaction } from '../../runtime/db/database.ts'
import { Refusal } from '../../runtime/http/refusal.ts'
import { Validator } from '../../runtime/http/validator.ts'
import { parseRowId } from '../../runtime/util/ids.ts'
import type { CurrentUser } from '../../workspaces/users/session-store.ts'
import { requireRole, requireRoleUnderLock } from '../../workspaces/users/workspaces.ts'
import type { ProposalContext } from '../agents-context.ts'
import { findEntity } from '../campaigns/campaign-api.ts'
import { lockPolicy } from '../policy/policy-store.ts'
import { readSubmittedTargets, type TargetStates } from '../proposals/account-history.ts'
import type { Action } from '../proposals/action.ts'
import { findAction, lockActions } from '../proposals/action-store.ts'
import { lockActiveAdAccount } from '../proposals/ad-account-store.ts'
import { findUndoes, insertBatch, type NewBatch } from '../proposals/batch-store.ts'
import {
  type EvaluatedAction,
  evaluateActions,
  strictestDecision,
} from '../proposals/evaluate-actions.ts'
import {
  approvalExpiry,
  type Proposal,
  requireQueueCapacity,
  saveProposal,
} from '../proposals/propose-actions.ts'
import { isUnchanged } from './action-preconditions.ts'

/** The user and the unparsed IDs of a request about an action. */
export interface UndoRequest {
  user: CurrentUser
  workspaceId: unknown
  actionId: unknown
}

type OperationContext = Pick<ProposalContext, 'database' | 'now' | 'audit' | 'campaigns'>

const undoValidator = new Validator(UndoSubmission, { multilineMembers: ['reason'] })

/**
 * Proposes to set back what a verified action changed, as the user who asks for it. It passes the
 * same policy, limits and two-person rule as a proposal of an agent. Nothing is executed here.
 * Throws a Refusal: 403, 404, 422, or 409 if the action was not verified, the entity changed since,
 * or an undo is pending or done.
 */
export async function proposeUndo(
  context: OperationContext,
  { user, ...ids }: UndoRequest,
  body: unknown,
): Promise<Proposal> {
  const { database, campaigns } = context
  const intent = { workspaceId: ids.workspaceId, action: 'decide_actions' } as const
  const { workspaceId } = await requireRole(database, user, intent)
  const actionId = parseRowId(ids.actionId) ?? 0
  const { reason } = undoValidator.validate(body ?? {})
  const seen = await findAction(database, { workspaceId, actionId })
  if (!seen) throw Refusal.notFound('There is no such action in this workspace.')
  const submission = reverseAction(seen, reason ?? defaultUndoReason(seen))
  const targets = await readSubmittedTargets(campaigns, seen.adAccountId, [submission])
  return database.query.transaction().execute(async query => {
    // The lock makes one of two concurrent requests see the proposal of the other.
    const [action = seen] = await lockActions({ query }, [actionId])
    await requireUndoable({ query }, action, targets)
    return save({ query }, context, { action, submission, targets, userId: user.userId })
  })
}

/** What the form suggests. */
export function defaultUndoReason({ id, batchId }: Pick<Action, 'id' | 'batchId'>): string {
  return `Undo action ${id} of proposal ${batchId}.`
}

const REVERSE_TYPES = {
  increase_budget: 'decrease_budget',
  decrease_budget: 'increase_budget',
  pause: 'resume',
  resume: 'pause',
} as const satisfies Record<ActionType, ActionType>

function reverseAction({ type, target, before }: Action, rationale: string): ActionSubmission {
  const reverse = REVERSE_TYPES[type]
  const budget = before?.daily_budget_minor ?? null
  const isBudget = reverse === 'increase_budget' || reverse === 'decrease_budget'
  return {
    type: reverse,
    params: isBudget && budget !== null ? { new_daily_budget_minor: budget } : {},
    target_entity: { type: target.type, id: target.id, name: before?.name ?? target.name },
    rationale,
  }
}

/** Undoes in these statuses changed nothing that lasts, so another one may be proposed. */
const ENDED_WITHOUT_CHANGE: readonly Action['status'][] = [
  'rejected',
  'blocked',
  'failed',
  'rolled_back',
]

async function requireUndoable(
  transaction: Transaction,
  action: Action,
  { entities }: TargetStates,
): Promise<void> {
  const status = action.status.replaceAll('_', ' ')
  if (action.status !== 'verified') {
    throw new Refusal(409, `Only a verified action can be undone; this one is ${status}.`)
  }
  const [undo] = await findStandingUndoes(transaction, [action.id])
  if (undo) throw new Refusal(409, `Proposal ${undo.batchId} already undoes this action.`)
  if (isUnchanged(action.after, findEntity(entities, action.target))) return
  const message =
    'The entity was changed since this action, or no longer exists, so undoing it could ' +
    'overwrite another change. Make the change on the platform yourself.'
  throw new Refusal(409, message)
}

/** The undoes of these actions that are pending or done. */
export async function findStandingUndoes(transaction: Transaction, actionIds: readonly number[]) {
  const undoes = await findUndoes(transaction, actionIds)
  return undoes.filter(({ status }) => !ENDED_WITHOUT_CHANGE.includes(status))
}

interface UndoInput {
  action: Action
  submission: ActionSubmission
  targets: TargetStates
  userId: number
}

async function save(
  transaction: Transaction,
  context: OperationContext,
  { action, submission, targets, userId }: UndoInput,
): Promise<Proposal> {
  const { workspaceId } = action
  const account = await lockActiveAdAccount(transaction, action)
  if (!account) throw new Refusal(409, 'The ad account is not active. Activate it first.')
  const at = context.now()
  const policy = await lockPolicy(transaction, workspaceId, at)
  // The policy's lock of the workspace makes role changes wait.
  await requireRoleUnderLock(transaction, { workspaceId, userId }, 'decide_actions')
  const submissions = [submission]
  const evaluated = await evaluateActions(transaction, {
    submissions,
    targets,
    account,
    policy,
    at,
  })
  await requireQueueCapacity(transaction, account.adAccountId, evaluated)
  const attempts = (await findUndoes(transaction, [action.id])).length
  const key = `undo-${action.id}-${attempts + 1}`
  const input = { action, evaluated, userId, key, policyVersion: policy.version, at }
  const batch = buildUndoBatch(input, submission)
  const id = await insertBatch(transaction, batch)
  if (id === null) throw new Error(`the key ${key} is taken`)
  const { currency } = account
  const saving = { batch: { ...batch, id }, currency, submissions, evaluated }
  return saveProposal(transaction, context, saving)
}

interface UndoBatchInput {
  action: Action
  evaluated: readonly EvaluatedAction[]
  userId: number
  key: string
  policyVersion: number
  at: Date
}

function buildUndoBatch(
  { action, evaluated, userId, key, policyVersion, at }: UndoBatchInput,
  submission: ActionSubmission,
): NewBatch {
  const content = canonicalJson({ undoes: action.id, action: submission, key })
  return {
    workspaceId: action.workspaceId,
    adAccountId: action.adAccountId,
    idempotencyKey: key,
    contentSha256: hash('sha256', content, 'buffer'),
    rationale: submission.rationale,
    provenance: { target_source: 'human_supplied', evidence: [] },
    // Without a name: the record is never erased, and pages look the name up.
    proposer: { kind: 'person', id: userId, name: 'A person', userId: userId },
    policyVersion,
    policyDecision: strictestDecision(evaluated),
    isAllOrNothing: false,
    undoes: action.id,
    createdAt: at,
    expiresAt: approvalExpiry(at),
  }
}
