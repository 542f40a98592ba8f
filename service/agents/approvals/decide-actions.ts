import type { EntityState } from '@signalbox/contract/agents/actions.ts'
import { DecisionSubmission } from '@signalbox/contract/agents/approvals.ts'
import type { AuditAction } from '../../audit/audit-entry.ts'
import type { Transaction } from '../../db/database.ts'
import { createBodyValidator } from '../../http/body-schema.ts'
import { type FieldErrors, Refusal } from '../../http/refusal.ts'
import type { CurrentPerson } from '../../people/session-store.ts'
import { hasPermission, type WorkspaceRole } from '../../people/workspace-role.ts'
import { countOwners, findMemberRole } from '../../people/workspace-store.ts'
import { requireRole } from '../../people/workspaces.ts'
import { parseRowId } from '../../util/row-id.ts'
import type { Action, ActionTransition } from '../proposals/action.ts'
import { findActionsOfBatch, lockActions } from '../proposals/action-store.ts'
import type { ProposalContext } from '../proposals/agents-context.ts'
import { type TransitionInput, transitionAction } from '../proposals/transition-action.ts'
import {
  type ActionPreconditions,
  hasExpired,
  lockPreconditions,
  resolveApproval,
} from './action-preconditions.ts'

/** Who wants to decide on which batch; ids as they came. */
export interface DecisionRequest {
  person: CurrentPerson
  workspaceId: unknown
  batchId: unknown
}

type DecisionContext = Pick<ProposalContext, 'database' | 'now' | 'audit' | 'platform'>

const checkDecision = createBodyValidator<DecisionSubmission>(DecisionSubmission, ['reason'])

/**
 * A person decides on the actions of a batch that wait, or on some of them, and is answered with
 * those as they are now. An approval that comes too late, or for what has changed since, ends its
 * action instead. Nothing is carried out here. Throws a Refusal: 403, 404, 409 when nothing waits
 * any more, or 422.
 */
export async function decideActions(
  context: DecisionContext,
  { person, ...visit }: DecisionRequest,
  body: unknown,
): Promise<Action[]> {
  const { database, now } = context
  const intent = { workspaceId: visit.workspaceId, action: 'decide_actions' } as const
  const { workspaceId } = await requireRole(database, person, intent)
  const decision = checkDecision(body)
  const batchId = parseRowId(visit.batchId) ?? 0
  return database.query.transaction().execute(async query => {
    const named = await selectActionIds({ query }, { workspaceId, batchId }, decision.action_ids)
    const held = await lockActions({ query }, named)
    const waiting = held.filter(({ status }) => status === 'pending')
    const [first] = waiting
    if (!first) throw nothingPending(held)
    const standing = await lockPreconditions({ query }, first, now())
    const order = { decision, userId: person.userId, at: standing.at }
    await requireDecider({ query }, first, order)
    return applyDecision({ query }, context, { order, standing, waiting })
  })
}

/** The actions of the batch that a decision is about. */
async function selectActionIds(
  transaction: Transaction,
  { workspaceId, batchId }: { workspaceId: number; batchId: number },
  actionIds: readonly number[] | undefined,
): Promise<number[]> {
  const actions = await findActionsOfBatch(transaction, batchId)
  const ids = actions.filter(action => action.workspaceId === workspaceId).map(({ id }) => id)
  if (ids.length === 0) throw Refusal.notFound('There is no such proposal in this workspace.')
  const errors: FieldErrors = {}
  actionIds?.forEach((id, index) => {
    if (ids.includes(id)) return
    errors[`action_ids.${index}`] = ['The proposal has no action with this id.']
  })
  if (Object.keys(errors).length > 0) throw Refusal.ofFields(errors)
  return actionIds ? [...actionIds] : ids
}

function nothingPending(actions: readonly Action[]): Refusal {
  const statuses = [...new Set(actions.map(({ status }) => status.replaceAll('_', ' ')))]
  const now = statuses.join(', ')
  return new Refusal(409, `There is nothing to decide any more: it is ${now}. Load it again.`)
}

/**
 * Asked again while the workspace is held, as roles are changed under a lock of it: an approval by
 * somebody who is no decider any more must not be kept.
 */
async function requireDecider(
  transaction: Transaction,
  action: Action,
  { userId, decision }: DecisionInput,
): Promise<void> {
  const { workspaceId } = action
  const role = await findMemberRole(transaction, { workspaceId, userId })
  if (role === null || !hasPermission(role, 'decide_actions')) {
    throw new Refusal(403, 'Your role in this workspace does not allow this; ask an owner.')
  }
  if (decision.decision === 'reject') return
  const sentence = await findApprovalDenial(transaction, action, { userId, role })
  if (sentence !== null) throw new Refusal(403, sentence)
}

interface DecisionInput {
  decision: DecisionSubmission
  userId: number
  at: Date
}

interface ApplyDecisionInput {
  order: DecisionInput
  standing: ActionPreconditions
  /** Pending, held, and of one ad account. */
  waiting: readonly Action[]
}

async function applyDecision(
  transaction: Transaction,
  { audit, platform }: DecisionContext,
  { order, standing, waiting }: ApplyDecisionInput,
): Promise<Action[]> {
  const targets = waiting.map(({ target }) => target)
  const { adAccountId } = standing
  const entities = await platform.readEntities(transaction, adAccountId, targets)
  const moved: Action[] = []
  for (const action of waiting) {
    const move =
      order.decision.decision === 'reject'
        ? toRejection(action, order.at)
        : resolveApproval(action, standing, findEntity(action, entities))
    moved.push(
      await transitionAction(transaction, audit, {
        action,
        ...move,
        ...(move.outcome === null ? recordDecision(move, order) : recordOverrule(move, order)),
      }),
    )
  }
  return moved
}

function toRejection(action: Action, at: Date): ActionTransition {
  return { to: 'rejected', outcome: hasExpired(action, at) ? 'expired' : null }
}

function findEntity({ target }: Action, entities: readonly EntityState[]): EntityState | null {
  return entities.find(({ type, id }) => type === target.type && id === target.id) ?? null
}

type RecordedDecision = Pick<TransitionInput, 'at' | 'actor' | 'audit' | 'details' | 'changes'>

function recordDecision(
  { to }: ActionTransition,
  { decision, userId, at }: DecisionInput,
): RecordedDecision {
  return {
    at,
    actor: { type: 'person', id: String(userId) },
    audit: to === 'rejected' ? 'action.rejected' : 'action.approved',
    changes: {
      ...{ decidedBy: userId, decidedAt: at, decisionReason: decision.reason },
      ...(to === 'executing' && { executionStartedAt: at }),
    },
  }
}

/** The person asked, and the rules ended it: nobody has decided on it. */
function recordOverrule(
  { to }: ActionTransition,
  { decision, userId, at }: DecisionInput,
): RecordedDecision {
  const audit: AuditAction = to === 'blocked' ? 'action.blocked' : 'action.rejected'
  const details = { asked_for: decision.decision, asked_by: userId }
  return { at, actor: { type: 'system', id: null }, audit, details }
}

/**
 * Why somebody may not approve what a credential of theirs proposed, as a sentence; null when they
 * may. Two people see what an agent does, unless there is nobody else who could.
 */
export async function findApprovalDenial(
  transaction: Transaction,
  { workspaceId, proposer }: Pick<Action, 'workspaceId' | 'proposer'>,
  { userId, role }: { userId: number; role: WorkspaceRole },
): Promise<string | null> {
  if (proposer.personId !== userId) return null
  const owners = await countOwners(transaction, workspaceId)
  const others = owners - (role === 'owner' ? 1 : 0)
  return others > 0 ? OWN_PROPOSAL : null
}

const OWN_PROPOSAL =
  'Your own credential proposed this, so somebody else has to approve it; you may reject it.'
