import { findEntity } from '../campaigns/campaign-api.ts'
import { type Action, hasFailedBatch, isFinal } from '../proposals/action.ts'
import {
  findActionsOfBatch,
  lockActions,
  orderForExecution,
  recordRollbackRequest,
} from '../proposals/action-store.ts'
import { confirmExecution, recordVerifications } from './confirm-execution.ts'
import { type ExecutionContext, executeAction } from './execute-action.ts'

/**
 * Executes the actions of an all-or-nothing batch one after the other, those that spend less first.
 * They are verified together in one transaction, so that none is final before all were executed. If
 * one cannot be executed or verified, the others are not executed any more, and those that were
 * executed are set back, the last one first. The database alone says what was done: a resumed or
 * concurrent run repeats requests with the same keys and comes to the same end.
 */
export async function executeBatch(context: ExecutionContext, batchId: number): Promise<void> {
  const actions = orderForExecution(await findActionsOfBatch(context.database, batchId))
  for (const { id } of actions) {
    // After a failure this ends the actions that were not requested, and settles the others.
    const { status } = await executeAction(context, id)
    // Stops early: a change that the platform did not make fails the batch before the next one.
    if (status === 'executed_pending_verification') await confirmExecution(context, id)
  }
  if (await verifyTogether(context, actions)) return
  for (const { id } of actions.toReversed()) {
    await requestRestore(context, actions, id)
    await confirmExecution(context, id)
  }
}

/**
 * Reads all entities and ends all actions as verified. False if the batch failed: an action ended
 * differently before, or an entity does not have the proposed state.
 */
async function verifyTogether(
  context: ExecutionContext,
  actions: readonly Action[],
): Promise<boolean> {
  const { database, campaigns } = context
  const [first] = actions
  if (!first) return true
  const targets = actions.map(({ target }) => target)
  const entities = await campaigns.readEntities(first.adAccountId, targets)
  return database.query.transaction().execute(async query => {
    const locked = await lockActions({ query }, idsOf(actions))
    if (locked.every(({ status }) => isFinal(status))) return locked.every(isVerified)
    if (hasFailedBatch(locked)) return false
    const verifications = locked.map(action => {
      return { action, found: findEntity(entities, action.target) }
    })
    return recordVerifications({ query }, context, verifications)
  })
}

/** Commits the request to set an executed action back, for a batch that failed. */
async function requestRestore(
  { database, now }: ExecutionContext,
  actions: readonly Action[],
  actionId: number,
): Promise<void> {
  await database.query.transaction().execute(async query => {
    const locked = await lockActions({ query }, idsOf(actions))
    const action = locked.find(({ id }) => id === actionId)
    if (action?.status !== 'executed_pending_verification' || action.rollbackRequestedAt) return
    if (hasFailedBatch(locked)) await recordRollbackRequest({ query }, action, now())
  })
}

function isVerified({ status }: Action): boolean {
  return status === 'verified'
}

function idsOf(actions: readonly Action[]): number[] {
  return actions.map(({ id }) => id)
}
