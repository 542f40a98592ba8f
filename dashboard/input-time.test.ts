import assert from 'node:assert/strict'
import { it } from 'node:test'
import { fromInputTime, toInputTime } from './src/components/input-time.ts'

it('reads and writes the times of an input in the chosen zone', () => {
  assert.equal(toInputTime('2026-11-21T08:05:30.000Z', 'utc'), '2026-11-21T08:05')
  assert.equal(fromInputTime('2026-11-21T08:05', 'utc'), '2026-11-21T08:05:00.000Z')
  for (const zone of ['utc', 'local'] as const) {
    const time = '2026-06-01T23:59:00.000Z'
    assert.equal(fromInputTime(toInputTime(time, zone), zone), time)
  }
})

it('is empty for an incomplete input and an address that names no time', () => {
  assert.equal(fromInputTime('', 'utc'), '')
  assert.equal(toInputTime('yesterday', 'local'), '')
  assert.equal(toInputTime(undefined, 'local'), '')
})
