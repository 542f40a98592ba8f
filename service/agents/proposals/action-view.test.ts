import assert from 'node:assert/strict'
import { it } from 'node:test'
import { ACTION_OUTCOMES, ACTION_STATUSES } from '@signalbox/contract/agents/actions.ts'
import { isFinal } from './action.ts'
import { explainAction } from './proposal-view.ts'

const expiresAt = new Date('2026-11-24T12:00:00.000Z')

it('explains every status and outcome in distinct sentences', () => {
  const seen = new Set<string>()
  for (const status of ACTION_STATUSES) {
    const outcomes = isFinal(status) ? [null, ...ACTION_OUTCOMES] : [null]
    for (const outcome of outcomes) {
      const text = explainAction({ status, outcome, expiresAt })
      assert.match(text, /^[A-Z].*\.$/, `${status} ${outcome}`)
      assert.doesNotMatch(text, /undefined|null/)
      assert.ok(!seen.has(text), text)
      seen.add(text)
    }
  }
})

it('includes the end of the approval period for a pending action', () => {
  const text = explainAction({ status: 'pending', outcome: null, expiresAt })
  assert.match(text, /2026-11-24T12:00:00\.000Z/)
})
