import assert from 'node:assert/strict'
import { it } from 'node:test'
import { formatTimeLeft } from './time.ts'

it('formats the time left, rounded down, and the time of expiry', () => {
  const until = new Date('2026-11-24T12:00:00.000Z')
  const before = (seconds: number) => new Date(until.getTime() - seconds * 1_000)
  const day = 86_400
  for (const [seconds, text] of [
    [3 * day, '3 days left'],
    [3 * day - 1, '2 days left'],
    [2 * day - 1, '47 hours left'],
    [7_199, '119 minutes left'],
    [119, 'Less than two minutes left'],
  ] as const) {
    assert.equal(formatTimeLeft(until, before(seconds)), `${text}, until 24 Nov 2026, 12:00 UTC`)
  }
  assert.equal(formatTimeLeft(until, until), 'Expired 24 Nov 2026, 12:00 UTC')
})
