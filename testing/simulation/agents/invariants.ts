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

/** Everything that there is to know about one stage, from the store alone. */
interface AgentHistory {
  fixture: AgentFixture
  actions: Map<number, Action>
  transitions: ActionTransition[]
  changes: EntityChange[]
}

type AddViolation = (fault: string) => void

/**
 * What has to be so whatever happened, as sentences about what is not: nothing is executed without
 * an allow or an approval that held in that moment, nothing twice, nothing in another ad account;
 * statuses move by their table; and the log and the receipts tell all of it.
 */
export async function findInvariantViolations(
  stage: AgentFixture,
  { isOver }: { isOver: boolean },
): Promise<string[]> {
  const story = await readHistory(stage)
  const faults: string[] = []
  for (const action of story.actions.values()) {
    const add: AddViolation = fault => faults.push(`action ${action.id} ${fault}`)
    const moves = story.transitions.filter(({ actionId }) => actionId === action.id)
    checkTransitions(action, moves, add)
    for (const move of moves) {
      if (move.to === 'executed_pending_verification') checkExecution(story, { action, move }, add)
      if (move.to === 'executing') checkDecision(action, move, add)
    }
    checkFinalState(action, moves, add)
    if (isOver && !isFinal(action.status)) add(`is stuck as ${action.status}`)
  }
  faults.push(...findUnexplainedChanges(story), ...(await findMissingAuditEntries(story)))
  const { finding, is_intact } = await verifyChain(stage.database, FIXTURE_AUDIT_KEYS, {
    workspaceId: stage.workspaceId,
    now: stage.clock.now(),
  })
  if (!is_intact) faults.push(finding)
  return faults
}

async function readHistory(stage: AgentFixture): Promise<AgentHistory> {
  const { database, workspaceId, adAccountId, otherAccountId } = stage
  const { rows } = await database.pool.query(
    'select id from agent_batches where workspace_id = $1 order by id',
    [workspaceId],
  )
  const batches = await Promise.all(rows.map(({ id }) => findActionsOfBatch(database, id)))
  return {
    fixture: stage,
    actions: new Map(batches.flat().map(action => [action.id, action])),
    transitions: await readActionTransitions(database, workspaceId),
    changes: await readEntityChanges(database, [adAccountId, otherAccountId]),
  }
}

function checkTransitions(
  action: Action,
  moves: readonly ActionTransition[],
  add: AddViolation,
): void {
  let status: string | null = null
  for (const { from, to } of moves) {
    if (from !== status) add(`moved from ${from} and was ${status}`)
    const isAllowed = from === null ? INITIAL_ACTION_STATUSES.includes(to) : canTransition(from, to)
    if (!isAllowed) add(`moved from ${from} to ${to}`)
    status = to
  }
  if (status !== action.status) add(`is ${action.status} and was seen to become ${status}`)
}

/** It holds in the moment of the execution, seen by the store itself. */
function checkExecution(
  { changes, fixture: stage }: AgentHistory,
  { action, move: { context: grounds, transaction } }: { action: Action; move: ActionTransition },
  add: AddViolation,
): void {
  const types = grounds.allowedTypes ?? [...ACTION_TYPES]
  if (!types.includes(action.type)) add('was executed and its type is not allowed')
  if (grounds.accountStatus !== 'active') add('was executed in a disabled ad account')
  if (!grounds.isCredentialLive) add('was executed for a credential that had ended')
  if (!grounds.isAnswerable) add('was executed and nobody answers for its credential')
  if (action.decidedBy === null) {
    if (action.policyDecision !== 'allow') add('was executed and nobody had approved it')
    if (grounds.mode !== 'auto_with_limits') add(`was executed by itself in mode ${grounds.mode}`)
  } else if (grounds.mode === 'suggest_only') add('was executed where agents only suggest')
  const made = changes.filter(change => change.transaction === transaction)
  const [change] = made
  if (made.length !== 1) add(`changed ${made.length} entities at once`)
  if (!change) return
  const { type, id, adAccountId, versionBefore } = change
  if (type !== action.target.type || id !== action.target.id) add('changed another entity')
  if (adAccountId !== action.adAccountId || adAccountId !== stage.adAccountId) {
    add('changed another ad account')
  }
  if (versionBefore !== action.before?.version) add('changed what was not what was judged')
}

/** Who let it be executed, where the policy did not. */
function checkDecision(
  action: Action,
  { from, context: grounds }: ActionTransition,
  add: AddViolation,
): void {
  if (from === null) return
  const { decidedBy, decidedAt, expiresAt, proposer } = action
  if (decidedBy === null) add('was approved by nobody')
  if (decidedAt === null || decidedAt >= expiresAt) add('was approved after its time')
  if (!['owner', 'admin'].includes(grounds.deciderRole ?? '')) add('was approved by anybody')
  if (decidedBy === proposer.personId && grounds.otherOwners > 0) add('was approved by its own')
  if (!isUnchanged(action, grounds)) add('was approved although it was stale')
}

function isUnchanged({ before }: Action, { entity }: TransitionContext): boolean {
  return entity?.version === before?.version
}

/** The end says what is there. */
function checkFinalState(
  action: Action,
  moves: readonly ActionTransition[],
  add: AddViolation,
): void {
  const executions = moves.filter(({ to }) => to === 'executed_pending_verification')
  if (executions.length > 1) add(`was executed ${executions.length} times`)
  const entity = moves.at(-1)?.context.entity
  const isAs = (state: Action['before']) =>
    entity?.status === state?.status && entity?.daily_budget_minor === state?.daily_budget_minor
  if (action.status === 'verified' && !isAs(action.proposed)) add('is verified and not so')
  if (action.status === 'rolled_back' && !isAs(action.before)) add('is rolled back and not so')
  const isDone = ['verified', 'rolled_back', 'execution_uncertain'].includes(action.status)
  if (isDone && executions.length === 0) add(`is ${action.status} and was never executed`)
}

/** Whoever is no agent changes entities outside of any move; the executor only with one. */
function findUnexplainedChanges({
  fixture: stage,
  changes,
  transitions: moves,
  actions,
}: AgentHistory): string[] {
  return changes.flatMap(({ transaction, adAccountId, type, id }) => {
    if (stage.externalTransactions.has(transaction)) return []
    const [move, ...others] = moves.filter(seen => seen.transaction === transaction)
    const action = move && actions.get(move.actionId)
    const mayChange = ['executed_pending_verification', 'rolled_back', 'execution_uncertain']
    const fits =
      others.length === 0 &&
      mayChange.includes(move?.to ?? '') &&
      action?.adAccountId === adAccountId &&
      action.target.type === type &&
      action.target.id === id
    return fits ? [] : [`${type} ${id} of account ${adAccountId} was changed by no action`]
  })
}

/** An entry for each move, and one receipt for each action that has ended. */
async function findMissingAuditEntries({
  fixture: stage,
  actions,
  transitions: moves,
}: AgentHistory): Promise<string[]> {
  const { database, workspaceId } = stage
  const entries = await readAuditEntries(database, workspaceId)
  const { rows } = await database.pool.query(
    'select action_id from agent_receipts where workspace_id = $1',
    [workspaceId],
  )
  return [...actions.values()].flatMap(({ id, status }) => {
    const told = entries
      .filter(({ subject }) => subject.type === 'action' && subject.id === String(id))
      .map(({ details }) => details.status)
    const seen = moves.filter(({ actionId }) => actionId === id).map(({ to }) => to)
    const receipts = rows.filter(row => row.action_id === id).length
    return [
      ...(told.join() === seen.join() ? [] : [`action ${id}: the log tells ${told}, not ${seen}`]),
      ...(receipts === (isFinal(status) ? 1 : 0) ? [] : [`action ${id} has ${receipts} receipts`]),
    ]
  })
}
