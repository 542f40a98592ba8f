import assert from 'node:assert/strict'
import { it } from 'node:test'
import { findDifference } from './proposal-records.ts'

it('names the first member that differs', () => {
  const stored = { status: 'verified', decision: { decided_by: 7, reason: 'Yes.' } }
  assert.equal(findDifference(stored, structuredClone(stored)), null)
  const decision = { ...stored.decision, decided_by: 8 }
  assert.equal(findDifference(stored, { ...stored, decision }), 'decision.decided_by')
  assert.equal(findDifference(stored, { ...stored, status: 'failed' }), 'status')
  assert.equal(findDifference(stored, { ...stored, decision: null }), 'decision')
  assert.equal(findDifference({ list: [1, 2] }, { list: [2, 1] }), 'list')
})

it('accepts documents of earlier versions, which lack members that are null now', () => {
  const stored = { decision: { decided_by: 7 } }
  const current = { decision: { decided_by: 7, context: null }, note: null }
  assert.equal(findDifference(stored, current), null)
  const forged = { decision: { decided_by: 7, context: { accepted_limits: [] } } }
  assert.equal(findDifference(stored, forged), 'decision.context')
  assert.equal(findDifference({ decision: null }, { decision: null, note: 'Forged.' }), 'note')
})
