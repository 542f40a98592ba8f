import type { Action } from '../proposals/action.ts'
import type { ProposalContext } from '../proposals/proposal-context.ts'
import { confirmExecution } from './confirm-execution.ts'
import { executeAction } from './execute-action.ts'

export type ExecutionContext = Pick<ProposalContext, 'database' | 'now' | 'audit' | 'platform'>

/**
 * Carries an action out that is `executing`, or goes on with one whose process died, and returns it
 * as it is afterwards; any other is left alone. Changing and reading back are a transaction each,
 * so that what was changed is known whatever happens to the second. May be called by several at
 * once and as often as somebody likes: each step is done once.
 */
export async function carryOut(context: ExecutionContext, actionId: number): Promise<Action> {
  const executed = await executeAction(context, actionId)
  return executed.status === 'executed_pending_verification'
    ? confirmExecution(context, actionId)
    : executed
}

/** Whether there is something left to carry out. */
export function isUnderWay({ status }: Pick<Action, 'status'>): boolean {
  return status === 'executing' || status === 'executed_pending_verification'
}
