// Full run only: runs measurements.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { it } from 'node:test'
import { formatEventKey } from '../../service/signals/ingestion/commit-store.ts'
import type { CitusFigures, CitusRound } from './citus.ts'
import { reportCitus } from './citus-report.ts'
import { purchaseGroup } from './purchase-drafts.ts'

const PLAN = { commits: 3, rows: 1_000, trackers: [1] }

function round(plain: number, owner: number): CitusRound {
  const cost = (milliseconds: number) => ({
    milliseconds,
    cpuSeconds: milliseconds / 2_000,
    walBytes: 4_000_000,
  })
  return { plain: cost(plain), owner: cost(owner), coordinator: cost(owner * 2) }
}

function figures(changes: Partial<CitusFigures> = {}): CitusFigures {
  return {
    machine: 'a machine',
    plan: PLAN,
    loads: [{ trackers: 1, rounds: [round(100, 140), round(200, 260), round(100, 900)] }],
    stores: [{ name: 'cluster', stored: 6_000, committed: 6_000 }],
    ...changes,
  }
}

it('distributes purchases over the trackers in key order, each with one delivery', () => {
  const trackers = [1, 2, 3].map(() => ({ trackerId: randomUUID(), destinationId: randomUUID() }))
  const plan = { trackers, rows: 10, run: '00000000abcd', at: new Date() }
  const groups = [purchaseGroup({ ...plan, first: 0 }), purchaseGroup({ ...plan, first: 10 })]
  for (const { entries, deliveries } of groups) {
    const keys = entries.map(formatEventKey)
    assert.deepEqual(keys, keys.toSorted())
    assert.deepEqual(deliveries.map(formatEventKey), keys)
    const counts = trackers.map(
      ({ trackerId }) => entries.filter(entry => entry.trackerId === trackerId).length,
    )
    assert.deepEqual(counts, [4, 3, 3])
    for (const { trackerId, destinationId } of deliveries) {
      assert.ok(
        trackers.some(
          tracker => tracker.trackerId === trackerId && tracker.destinationId === destinationId,
        ),
      )
    }
  }
  const keys = groups.flatMap(({ entries }) => entries.map(formatEventKey))
  assert.equal(new Set(keys).size, 20)
})

it('compares commits within a round, and CPU time over all rounds', () => {
  const { text, faults } = reportCitus(figures())
  assert.deepEqual(faults, [])
  assert.match(text, /^commit, ms +100\.0 +260\.0 +520\.0\n +to PostgreSQL +1\.00 +1\.40 +2\.80$/m)
  assert.match(text, /^server CPU s\/1,000 rows +0\.067 +0\.217 +0\.433\n.* +1\.00 +3\.25 +6\.50$/m)
  assert.match(text, /^WAL bytes per row +4,000 +4,000 +4,000$/m)
  assert.match(text, /^1 tracker, owning node to PostgreSQL 1\.40: target at most 1\.5: met$/m)
})

it('reports missing rows, and no faults without a cluster', () => {
  const stores = [{ name: 'cluster', stored: 5, committed: 6 }]
  const { faults } = reportCitus(figures({ stores }))
  assert.deepEqual(faults, ['6 were committed to cluster and 5 are stored.'])
  assert.deepEqual(reportCitus('no root'), {
    text: 'Skipped: no root.',
    faults: [],
    isSkipped: true,
  })
})
