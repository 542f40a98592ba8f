import type { ActionStatus, BatchStatus } from '@signalbox/contract/agents/actions.ts'

/**
 * The status of a batch, which follows from those of its actions and is stored nowhere
 * (`docs/states.md`). What is still open comes first, then what was done, what went wrong, and what
 * a person or the policy said no to.
 */
export function batchStatus(statuses: readonly ActionStatus[]): BatchStatus {
  const some = (...wanted: ActionStatus[]) => statuses.some(status => wanted.includes(status))
  if (some('pending')) return 'pending_approval'
  if (some('executing', 'executed_pending_verification')) return 'executing'
  if (some('verified')) {
    return statuses.every(status => status === 'verified') ? 'completed' : 'partially_completed'
  }
  if (some('failed', 'rolled_back', 'execution_uncertain')) return 'failed'
  if (some('approved_without_execution')) return 'approved_without_execution'
  return some('rejected') ? 'rejected' : 'blocked'
}
