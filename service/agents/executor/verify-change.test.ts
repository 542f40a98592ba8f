import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { EntityState } from '@signalbox/contract/agents/actions.ts'
import fc from 'fast-check'
import { verifyChange } from './confirm-execution.ts'

const state: fc.Arbitrary<EntityState> = fc.record({
  type: fc.constant('campaign'),
  id: fc.constant('901'),
  name: fc.constantFrom('Autumn', 'Winter'),
  parent_id: fc.constant(null),
  status: fc.constantFrom('active', 'paused'),
  daily_budget_minor: fc.constantFrom(null, 1_000, 2_000),
  version: fc.integer({ min: 1, max: 4 }),
})

it('verifies the proposed settings regardless of name and version', () => {
  fc.assert(
    fc.property(state, state, fc.integer(), (proposed, after, version) => {
      const found = { ...proposed, name: 'Renamed', version }
      assert.equal(verifyChange({ proposed, after }, found), 'as_proposed')
    }),
  )
})

it('attributes a difference to the platform only for an unchanged version', () => {
  fc.assert(
    fc.property(state, state, state, (proposed, after, found) => {
      const isAsProposed =
        found.status === proposed.status && found.daily_budget_minor === proposed.daily_budget_minor
      fc.pre(!isAsProposed)
      const expected = found.version === after.version ? 'not_applied' : 'changed_elsewhere'
      assert.equal(verifyChange({ proposed, after }, found), expected)
    }),
  )
})

it('treats a missing entity as changed elsewhere', () => {
  fc.assert(
    fc.property(state, state, (proposed, after) => {
      assert.equal(verifyChange({ proposed, after }, null), 'changed_elsewhere')
    }),
  )
})
