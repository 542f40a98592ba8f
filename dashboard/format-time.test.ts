import assert from 'node:assert/strict'
import { after, before, it } from 'node:test'
import { formatAbsolute, formatRelative } from './src/components/format-time.ts'

const given = process.env.TZ
before(() => {
  process.env.TZ = 'America/Los_Angeles'
})
after(() => {
  if (given === undefined) delete process.env.TZ
  else process.env.TZ = given
})

it('names the zone of every time, and its change with the summer', () => {
  const winter = new Date('2026-11-23T22:05:09.000Z')
  const summer = new Date('2026-07-01T03:00:00.000Z')
  assert.equal(formatAbsolute(winter, 'utc'), '2026-11-23 22:05:09 UTC')
  assert.equal(formatAbsolute(winter, 'local'), '2026-11-23 14:05:09 PST')
  assert.equal(formatAbsolute(summer, 'local'), '2026-06-30 20:00:00 PDT')
})

it('never shows what has happened as something to come', () => {
  const now = new Date('2026-11-23T12:00:00.000Z')
  const at = (seconds: number) => new Date(now.getTime() + seconds * 1_000)
  for (const [seconds, happened, planned] of [
    [-7_300, '2 hours ago', '2 hours ago'],
    [-59, 'just now', 'now'],
    [40, 'just now', 'in a few seconds'],
    [90, 'in 1 minute', 'in 1 minute'],
    [86_400, 'tomorrow', 'tomorrow'],
  ] as const) {
    assert.equal(formatRelative(at(seconds), { now }), happened)
    assert.equal(formatRelative(at(seconds), { now, isPlanned: true }), planned)
  }
})
