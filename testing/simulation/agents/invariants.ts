import { ACTION_TYPES } from '@signalbox/contract/agents/actions.ts'
import {
  type Action,
  canTransition,
  INITIAL_ACTION_STATUSES,
  isFinal,
} from '../../../service/agents/proposals/action.ts'
import { findActionsOfBatch } from '../../../service/agents/proposals/action-store.ts'
import { verifyChain } from '../../../service/audit/verify-chain.ts'
import { type AgentFixture, FIXTURE_AUDIT_KEYS } from '../../fixtures/agents.ts'
import { readAuditEntries } from '../../fixtures/audit.ts'
import {
  type ActionTransition,
  type EntityChange,
  readActionTransitions,
  readEntityChanges,
  type TransitionContext,
} from './transition-log.ts'

/** Everything that there is to know about one fixture, from the store alone. */
interface AgentHistory {
  fixture: AgentFixture
  actions: Map<number, Action>
  transitions: ActionTransition[]
  changes: EntityChange[]
}

type AddViolation = (fault: string) => void

/**
 * Returns a sentence for each violated invariant: every execution needs a policy decision or an
 * approval that is valid at that moment; no action is executed twice or in another ad account;
 * statuses follow the transition table; audit log and receipts are complete.
 */
export async function findInvariantViolations(
  fixture: AgentFixture,
  { isOver }: { isOver: boolean },
): Promise<string[]> {
  const history = await readHistory(fixture)
  const violations: string[] = []
  for (const action of history.actions.values()) {
    const add: AddViolation = fault => violations.push(`action ${action.id} ${fault}`)
    const transitions = history.transitions.filter(({ actionId }) => actionId === action.id)
    checkTransitions(action, transitions, add)
    for (const transition of transitions) {
      if (transition.to === 'executed_pending_verification')
        checkExecution(history, { action, transition }, add)
      if (transition.to === 'executing') checkDecision(action, transition, add)
    }
    checkFinalState(action, transitions, add)
    if (isOver && !isFinal(action.status)) add(`is stuck as ${action.status}`)
  }
  violations.push(...findUnexplainedChanges(history), ...(await findMissingAuditEntries(history)))
  const { finding, is_intact } = await verifyChain(fixture.database, FIXTURE_AUDIT_KEYS, {
    workspaceId: fixture.workspaceId,
    now: fixture.clock.now(),
  })
  if (!is_intact) violations.push(finding)
  return violations
}

async function readHistory(fixture: AgentFixture): Promise<AgentHistory> {
  const { database, workspaceId, adAccountId, otherAccountId } = fixture
  const { rows } = await database.pool.query(
    'select id from agent_batches where workspace_id = $1 order by id',
    [workspaceId],
  )
  const batches = await Promise.all(rows.map(({ id }) => findActionsOfBatch(database, id)))
  return {
    fixture,
    actions: new Map(batches.flat().map(action => [action.id, action])),
    transitions: await readActionTransitions(database, workspaceId),
    changes: await readEntityChanges(database, [adAccountId, otherAccountId]),
  }
}

function checkTransitions(
  action: Action,
  transitions: readonly ActionTransition[],
  add: AddViolation,
): void {
  let status: string | null = null
  for (const { from, to } of transitions) {
    if (from !== status) add(`moved from ${from} but was ${status}`)
    const isAllowed = from === null ? INITIAL_ACTION_STATUSES.includes(to) : canTransition(from, to)
    if (!isAllowed) add(`moved from ${from} to ${to}`)
    status = to
  }
  if (status !== action.status) add(`is ${action.status} but its last transition was to ${status}`)
}

/** Every condition holds at the moment of execution, as recorded by the store. */
function checkExecution(
  { changes, fixture }: AgentHistory,
  {
    action,
    transition: { context, transaction },
  }: { action: Action; transition: ActionTransition },
  add: AddViolation,
): void {
  const types = context.allowedTypes ?? [...ACTION_TYPES]
  if (!types.includes(action.type)) add('was executed although its type is not allowed')
  if (context.accountStatus !== 'active') add('was executed in a disabled ad account')
  if (!context.isCredentialLive) add('was executed for an expired or revoked credential')
  if (!context.isAnswerable) add('was executed without a responsible owner')
  if (action.decidedBy === null) {
    if (action.policyDecision !== 'allow') add('was executed without approval')
    if (context.mode !== 'auto_with_limits')
      add(`was executed automatically in mode ${context.mode}`)
  } else if (context.mode === 'suggest_only') add('was executed in mode suggest_only')
  const entityChanges = changes.filter(change => change.transaction === transaction)
  const [change] = entityChanges
  if (entityChanges.length !== 1) add(`changed ${entityChanges.length} entities`)
  if (!change) return
  const { type, id, adAccountId, versionBefore } = change
  if (type !== action.target.type || id !== action.target.id) add('changed another entity')
  if (adAccountId !== action.adAccountId || adAccountId !== fixture.adAccountId) {
    add('changed another ad account')
  }
  if (versionBefore !== action.before?.version)
    add('changed a version other than the evaluated one')
}

/** Who approved it, unless the policy allowed it. */
function checkDecision(
  action: Action,
  { from, context }: ActionTransition,
  add: AddViolation,
): void {
  if (from === null) return
  const { decidedBy, decidedAt, expiresAt, proposer } = action
  if (decidedBy === null) add('was approved without a decider')
  if (decidedAt === null || decidedAt >= expiresAt) add('was approved after it expired')
  if (!['owner', 'admin'].includes(context.deciderRole ?? ''))
    add('was approved without the required role')
  if (decidedBy === proposer.personId && context.otherOwners > 0)
    add('was approved by its proposer')
  if (!isUnchanged(action, context)) add('was approved although it was stale')
}

function isUnchanged({ before }: Action, { entity }: TransitionContext): boolean {
  return entity?.version === before?.version
}

/** The final status matches the entity. */
function checkFinalState(
  action: Action,
  transitions: readonly ActionTransition[],
  add: AddViolation,
): void {
  const executions = transitions.filter(({ to }) => to === 'executed_pending_verification')
  if (executions.length > 1) add(`was executed ${executions.length} times`)
  const entity = transitions.at(-1)?.context.entity
  const isAs = (state: Action['before']) =>
    entity?.status === state?.status && entity?.daily_budget_minor === state?.daily_budget_minor
  if (action.status === 'verified' && !isAs(action.proposed))
    add('is verified but differs from the proposal')
  if (action.status === 'rolled_back' && !isAs(action.before))
    add('is rolled back but differs from the previous state')
  const isDone = ['verified', 'rolled_back', 'execution_uncertain'].includes(action.status)
  if (isDone && executions.length === 0) add(`is ${action.status} but was never executed`)
}

/** Only external changes may lack a transition in the same transaction. */
function findUnexplainedChanges({
  fixture,
  changes,
  transitions,
  actions,
}: AgentHistory): string[] {
  return changes.flatMap(({ transaction, adAccountId, type, id }) => {
    if (fixture.externalTransactions.has(transaction)) return []
    const [transition, ...others] = transitions.filter(other => other.transaction === transaction)
    const action = transition && actions.get(transition.actionId)
    const mayChange = ['executed_pending_verification', 'rolled_back', 'execution_uncertain']
    const fits =
      others.length === 0 &&
      mayChange.includes(transition?.to ?? '') &&
      action?.adAccountId === adAccountId &&
      action.target.type === type &&
      action.target.id === id
    return fits ? [] : [`${type} ${id} of account ${adAccountId} was changed by no action`]
  })
}

/** An audit entry for each transition, and one receipt for each final action. */
async function findMissingAuditEntries({
  fixture,
  actions,
  transitions,
}: AgentHistory): Promise<string[]> {
  const { database, workspaceId } = fixture
  const entries = await readAuditEntries(database, workspaceId)
  const { rows } = await database.pool.query(
    'select action_id from agent_receipts where workspace_id = $1',
    [workspaceId],
  )
  return [...actions.values()].flatMap(({ id, status }) => {
    const logged = entries
      .filter(({ subject }) => subject.type === 'action' && subject.id === String(id))
      .map(({ details }) => details.status)
    const expected = transitions.filter(({ actionId }) => actionId === id).map(({ to }) => to)
    const receipts = rows.filter(row => row.action_id === id).length
    return [
      ...(logged.join() === expected.join()
        ? []
        : [`action ${id}: the log has ${logged}, not ${expected}`]),
      ...(receipts === (isFinal(status) ? 1 : 0) ? [] : [`action ${id} has ${receipts} receipts`]),
    ]
  })
}
