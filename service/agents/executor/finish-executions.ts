import { carryOut, type ExecutionContext } from './carry-out.ts'
import { findUnfinished } from './unfinished-action-store.ts'

/** Longer than a request may take, so that nobody takes up what somebody is doing. */
export const EXECUTION_LEASE_SECONDS = 60
const ACTIONS_A_RUN_MAX = 50

/**
 * Goes on with actions whose process died halfway, or could not reach the store. Taking one up that
 * is still being carried out does no harm. One that fails does not hold up the others; they are
 * thrown together at the end.
 */
export async function finishExecutions(
  context: ExecutionContext,
): Promise<{ finished: number; more: boolean }> {
  const before = new Date(context.now().getTime() - EXECUTION_LEASE_SECONDS * 1_000)
  const ids = await findUnfinished(context.database, before, ACTIONS_A_RUN_MAX)
  const errors: unknown[] = []
  for (const id of ids) await carryOut(context, id).catch(error => errors.push(error))
  if (errors.length > 0) {
    throw new AggregateError(errors, `${errors.length} actions could not be finished`)
  }
  return { finished: ids.length, more: ids.length === ACTIONS_A_RUN_MAX }
}
