import assert from 'node:assert/strict'
import { it } from 'node:test'
import {
  ACTION_STATUSES,
  type ActionStatus,
  BATCH_STATUSES,
  type BatchStatus,
} from '@signalbox/contract/agents/actions.ts'
import { isFinal } from './action.ts'
import { deriveBatchStatus } from './proposal-view.ts'

const ALONE: Record<ActionStatus, BatchStatus> = {
  pending: 'pending_approval',
  rejected: 'rejected',
  approved_without_execution: 'approved_without_execution',
  executing: 'executing',
  executed_pending_verification: 'executing',
  verified: 'completed',
  failed: 'failed',
  execution_uncertain: 'failed',
  rolled_back: 'failed',
  blocked: 'blocked',
}

it('derives the status of a batch of one from its action', () => {
  for (const status of ACTION_STATUSES) assert.equal(deriveBatchStatus([status]), ALONE[status])
})

const TOGETHER: [BatchStatus, ...ActionStatus[]][] = [
  ['pending_approval', 'verified', 'executing', 'pending', 'blocked'],
  ['executing', 'verified', 'executed_pending_verification', 'failed'],
  ['completed', 'verified', 'verified'],
  ['partially_completed', 'verified', 'blocked'],
  ['partially_completed', 'verified', 'rejected'],
  ['partially_completed', 'verified', 'approved_without_execution'],
  ['partially_completed', 'rolled_back', 'verified', 'execution_uncertain'],
  ['failed', 'rejected', 'failed', 'blocked'],
  ['failed', 'approved_without_execution', 'rolled_back'],
  ['failed', 'execution_uncertain', 'rejected'],
  ['approved_without_execution', 'approved_without_execution', 'rejected', 'blocked'],
  ['rejected', 'blocked', 'rejected'],
  ['blocked', 'blocked', 'blocked'],
]

it('ranks open actions over executed ones, and those over the rest', () => {
  for (const [expected, ...statuses] of TOGETHER) {
    assert.equal(deriveBatchStatus(statuses), expected, statuses.join(' '))
    assert.equal(deriveBatchStatus(statuses.reverse()), expected, statuses.join(' '))
  }
})

it('is open exactly while an action is open, and reaches every status', () => {
  const reached = new Set<BatchStatus>()
  for (const one of ACTION_STATUSES) {
    for (const other of ACTION_STATUSES) {
      const status = deriveBatchStatus([one, other])
      reached.add(status)
      const isOpen = status === 'pending_approval' || status === 'executing'
      assert.equal(isOpen, !isFinal(one) || !isFinal(other), `${one} ${other}`)
    }
  }
  assert.deepEqual([...reached].sort(), [...BATCH_STATUSES].sort())
})
