import type { EntityState } from '@signalbox/contract/agents/actions.ts'
import { DecisionSubmission } from '@signalbox/contract/agents/approvals.ts'
import type { Transaction } from '../../db/database.ts'
import { bodyCheck } from '../../http/checked-body.ts'
import { type FieldErrors, Refusal } from '../../http/refusal.ts'
import type { CurrentPerson } from '../../people/current-person.ts'
import { findRole } from '../../people/member-store.ts'
import { requireRole, rowId } from '../../people/require-role.ts'
import { mayDo } from '../../people/workspace-role.ts'
import type { AuditAction } from '../audit/audit-entry.ts'
import type { Action } from '../proposals/action.ts'
import type { ActionMove } from '../proposals/action-moves.ts'
import { findActionsOfBatch, lockActions } from '../proposals/action-store.ts'
import { type MoveOrder, moveAction } from '../proposals/move-action.ts'
import type { ProposalContext } from '../proposals/proposal-context.ts'
import { approvalVerdict, hasExpired } from './approval-verdict.ts'
import { holdStanding, type Standing } from './hold-standing.ts'
import { mayNotApprove } from './may-not-approve.ts'

/** Who wants to decide on which batch; ids as they came. */
export interface DecisionVisit {
  person: CurrentPerson
  workspaceId: unknown
  batchId: unknown
}

export type DecisionContext = Pick<ProposalContext, 'database' | 'now' | 'audit' | 'platform'>

const checkDecision = bodyCheck<DecisionSubmission>(DecisionSubmission, ['reason'])

/**
 * A person decides on the actions of a batch that wait, or on some of them, and is answered with
 * those as they are now. An approval that comes too late, or for what has changed since, ends its
 * action instead. Nothing is carried out here. Throws a Refusal: 403, 404, 409 when nothing waits
 * any more, or 422.
 */
export async function decideActions(
  context: DecisionContext,
  { person, ...visit }: DecisionVisit,
  body: unknown,
): Promise<Action[]> {
  const { database, now } = context
  const intent = { workspaceId: visit.workspaceId, action: 'decide_actions' } as const
  const { workspaceId } = await requireRole(database, person, intent)
  const decision = checkDecision(body)
  const batchId = rowId(visit.batchId) ?? 0
  return database.query.transaction().execute(async query => {
    const named = await namedActions({ query }, { workspaceId, batchId }, decision.action_ids)
    const held = await lockActions({ query }, named)
    const waiting = held.filter(({ status }) => status === 'pending')
    const [first] = waiting
    if (!first) throw nothingWaits(held)
    const standing = await holdStanding({ query }, first, now())
    const order = { decision, userId: person.userId, at: standing.at }
    await requireDecider({ query }, first, order)
    return settle({ query }, context, { order, standing, waiting })
  })
}

/** The actions of the batch that a decision is about. */
async function namedActions(
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

function nothingWaits(actions: readonly Action[]): Refusal {
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
  { userId, decision }: Order,
): Promise<void> {
  const { workspaceId } = action
  const role = await findRole(transaction, { workspaceId, userId })
  if (role === null || !mayDo(role, 'decide_actions')) {
    throw new Refusal(403, 'Your role in this workspace does not allow this; ask an owner.')
  }
  if (decision.decision === 'reject') return
  const sentence = await mayNotApprove(transaction, action, { userId, role })
  if (sentence !== null) throw new Refusal(403, sentence)
}

interface Order {
  decision: DecisionSubmission
  userId: number
  at: Date
}

interface Orders {
  order: Order
  standing: Standing
  /** Pending, held, and of one ad account. */
  waiting: readonly Action[]
}

async function settle(
  transaction: Transaction,
  { audit, platform }: DecisionContext,
  { order, standing, waiting }: Orders,
): Promise<Action[]> {
  const targets = waiting.map(({ target }) => target)
  const { adAccountId } = standing
  const entities = await platform.readEntities(transaction, adAccountId, targets)
  const moved: Action[] = []
  for (const action of waiting) {
    const move =
      order.decision.decision === 'reject'
        ? rejection(action, order.at)
        : approvalVerdict(action, standing, entityOf(action, entities))
    moved.push(
      await moveAction(transaction, audit, {
        action,
        ...move,
        ...(move.outcome === null ? decided(move, order) : overruled(move, order)),
      }),
    )
  }
  return moved
}

function rejection(action: Action, at: Date): ActionMove {
  return { to: 'rejected', outcome: hasExpired(action, at) ? 'expired' : null }
}

function entityOf({ target }: Action, entities: readonly EntityState[]): EntityState | null {
  return entities.find(({ type, id }) => type === target.type && id === target.id) ?? null
}

type Written = Pick<MoveOrder, 'at' | 'actor' | 'audit' | 'details' | 'changes'>

function decided({ to }: ActionMove, { decision, userId, at }: Order): Written {
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
function overruled({ to }: ActionMove, { decision, userId, at }: Order): Written {
  const audit: AuditAction = to === 'blocked' ? 'action.blocked' : 'action.rejected'
  const details = { asked_for: decision.decision, asked_by: userId }
  return { at, actor: { type: 'system', id: null }, audit, details }
}
