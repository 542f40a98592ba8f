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
 * Returns a sentence for each violated invariant: every request for a change needs a policy
 * decision or an approval that is valid at that moment; every change needs a committed request and
 * happens once for its key, in the ad account of its action; every request reaches a final status;
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
      if (transition.isRequest) checkRequest(action, transition, add)
      else if (transition.to === 'executing') checkDecision(action, transition, add)
    }
    checkChanges(history, { action, transitions }, add)
    checkFinalState(history, { action, transitions }, add)
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
  for (const { from, to, isRequest } of transitions) {
    if (isRequest) {
      if (to !== 'executing') add(`requested a change while it was ${to}`)
      continue
    }
    if (from !== status) add(`moved from ${from} but was ${status}`)
    const isAllowed = from === null ? INITIAL_ACTION_STATUSES.includes(to) : canTransition(from, to)
    if (!isAllowed) add(`moved from ${from} to ${to}`)
    status = to
  }
  if (status !== action.status) add(`is ${action.status} but its last transition was to ${status}`)
}

/** Every condition holds at the moment of the request, as recorded by the store. */
function checkRequest(action: Action, { context }: ActionTransition, add: AddViolation): void {
  const types = context.allowedTypes ?? [...ACTION_TYPES]
  if (!types.includes(action.type)) add('was requested although its type is not allowed')
  if (context.accountStatus !== 'active') add('was requested in a disabled ad account')
  if (!context.isCredentialLive) add('was requested for an expired or revoked credential')
  if (!context.isAnswerable) add('was requested without a responsible owner')
  if (action.decidedBy === null) {
    if (action.policyDecision !== 'allow') add('was requested without approval')
    if (context.mode !== 'auto_with_limits')
      add(`was requested automatically in mode ${context.mode}`)
  } else if (context.mode === 'suggest_only') add('was requested in mode suggest_only')
}

interface ActionHistory {
  action: Action
  transitions: readonly ActionTransition[]
}

/** At most one change and one rollback, each requested before, of the version it was meant for. */
function checkChanges(
  { changes }: AgentHistory,
  { action, transitions }: ActionHistory,
  add: AddViolation,
): void {
  const [change, ...repeats] = changes.filter(({ key }) => key === `action-${action.id}`)
  const rollbacks = changes.filter(({ key }) => key === `action-${action.id}-rollback`)
  if (repeats.length > 0) add(`made its change ${repeats.length + 1} times`)
  if (rollbacks.length > 1) add(`was rolled back ${rollbacks.length} times`)
  for (const made of [change ?? [], rollbacks].flat()) {
    if (!made.isRequested) add('made a change before its request was committed')
    if (!isTargetOf(action, made)) add('changed another entity')
  }
  if (change && change.versionBefore !== action.before?.version)
    add('changed a version other than the evaluated one')
  for (const { versionBefore } of rollbacks) {
    if (versionBefore !== change?.after?.version) add('was rolled back over an external change')
  }
  const isExecuted = transitions.some(({ to }) => to === 'executed_pending_verification')
  if (isExecuted && !change) add('was executed without a change')
  if (change && !MAY_HAVE_CHANGED.includes(action.status))
    add(`is ${action.status} but changed an entity`)
}

const MAY_HAVE_CHANGED: readonly Action['status'][] = [
  'executing',
  'executed_pending_verification',
  'verified',
  'rolled_back',
  'execution_uncertain',
]

function isTargetOf({ target, adAccountId }: Action, change: EntityChange): boolean {
  return (
    change.adAccountId === adAccountId && change.type === target.type && change.id === target.id
  )
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
  if (decidedBy === proposer.userId && context.otherDeciders > 0)
    add('was approved by its proposer')
  // The entity is read before the transaction. A change in between must fail the execution.
  const isStale = context.entity?.version !== action.before?.version
  if (isStale && isFinal(action.status) && action.status !== 'failed')
    add(`was approved although it was stale, and is ${action.status}`)
}

/** The final status matches a version that the entity really had. */
function checkFinalState(
  { changes, fixture }: AgentHistory,
  { action, transitions }: ActionHistory,
  add: AddViolation,
): void {
  const { status } = action
  if (action.adAccountId !== fixture.adAccountId) add('belongs to another ad account')
  const executions = transitions.filter(({ to }) => to === 'executed_pending_verification')
  if (executions.length > 1) add(`was executed ${executions.length} times`)
  const entity = changes
    .filter(change => isTargetOf(action, change))
    .find(({ after }) => after?.version === action.after?.version)?.after
  const isAs = (state: Action['before']) =>
    entity?.status === state?.status && entity?.daily_budget_minor === state?.daily_budget_minor
  if (status === 'verified' && !isAs(action.proposed))
    add('is verified but differs from the proposal')
  if (status === 'rolled_back' && !isAs(action.before))
    add('is rolled back but differs from the previous state')
  const isExecuted = executions.length > 0
  if (['verified', 'rolled_back'].includes(status) && !isExecuted)
    add(`is ${status} but was never executed`)
  const isRequested = transitions.some(({ isRequest }) => isRequest)
  if ((isExecuted || status === 'execution_uncertain') && !isRequested)
    add(`is ${status} but was never requested`)
}

/** External changes have no key; the executor's changes have the key of an action. */
function findUnexplainedChanges({ fixture, changes, actions }: AgentHistory): string[] {
  return changes.flatMap(({ transaction, key, adAccountId, type, id }) => {
    const actionId = Number(/^action-(\d+)(-rollback)?$/.exec(key ?? '')?.[1] ?? 0)
    const isExternal = fixture.externalTransactions.has(transaction)
    if (isExternal ? key === null : actions.has(actionId)) return []
    return [`${type} ${id} of account ${adAccountId} was changed by no action`]
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
    const expected = transitions
      .filter(({ actionId, isRequest }) => actionId === id && !isRequest)
      .map(({ to }) => to)
    const receipts = rows.filter(row => row.action_id === id).length
    return [
      ...(logged.join() === expected.join()
        ? []
        : [`action ${id}: the log has ${logged}, not ${expected}`]),
      ...(receipts === (isFinal(status) ? 1 : 0) ? [] : [`action ${id} has ${receipts} receipts`]),
    ]
  })
}
