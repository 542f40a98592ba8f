import assert from 'node:assert/strict'
import { it } from 'node:test'
import { computeRetentionCutoff } from './partition-store.ts'

it('counts whole UTC days', () => {
  const cutoff = (now: string) => computeRetentionCutoff(new Date(now), { days: 90 })
  assert.equal(cutoff('2027-02-19T00:00:00.000Z'), '2026-11-21')
  assert.equal(cutoff('2027-02-19T23:59:59.999Z'), '2026-11-21')
  assert.equal(cutoff('2027-02-20T00:00:00.000Z'), '2026-11-22')
})

it('goes back to the same day of the month, or to its last day', () => {
  const cutoff = (now: string, months: number) =>
    computeRetentionCutoff(new Date(`${now}T12:00:00Z`), { months })
  assert.equal(cutoff('2028-12-21', 25), '2026-11-21')
  assert.equal(cutoff('2028-03-31', 25), '2026-02-28')
  assert.equal(cutoff('2026-03-31', 25), '2024-02-29')
  assert.equal(cutoff('2027-01-31', 2), '2026-11-30')
  assert.equal(cutoff('2026-12-31', 12), '2025-12-31')
})
