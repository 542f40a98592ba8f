import assert from 'node:assert/strict'
import { it } from 'node:test'
import { isWithinQuietHours, startOfAccountDay } from './account-formats.ts'

/** In Berlin, which is UTC+1 in November. */
function isQuietAt(from: string, until: string, time: string): boolean {
  return isWithinQuietHours({ from, until }, new Date(`2026-11-21T${time}.000Z`), 'Europe/Berlin')
}

it('includes the first minute of quiet hours and excludes the last', () => {
  assert.equal(isQuietAt('13:00', '15:30', '11:59:59'), false)
  assert.equal(isQuietAt('13:00', '15:30', '12:00:00'), true)
  assert.equal(isQuietAt('13:00', '15:30', '14:29:59'), true)
  assert.equal(isQuietAt('13:00', '15:30', '14:30:00'), false)
})

it('spans midnight if quiet hours end earlier than they begin', () => {
  assert.equal(isQuietAt('22:00', '06:00', '20:59:59'), false)
  assert.equal(isQuietAt('22:00', '06:00', '21:00:00'), true)
  assert.equal(isQuietAt('22:00', '06:00', '23:00:00'), true)
  assert.equal(isQuietAt('22:00', '06:00', '04:59:59'), true)
  assert.equal(isQuietAt('22:00', '06:00', '05:00:00'), false)
})

it('ends at midnight, and treats equal times as the whole day', () => {
  assert.equal(isQuietAt('22:00', '00:00', '22:59:59'), true)
  assert.equal(isQuietAt('22:00', '00:00', '23:00:00'), false)
  for (const time of ['00:00:00', '07:00:00', '12:34:56']) {
    assert.equal(isQuietAt('08:00', '08:00', time), true)
  }
})

it('covers both occurrences of the repeated hour', () => {
  const quiet = { from: '02:00', until: '03:00' }
  for (const at of ['2026-10-25T00:30:00.000Z', '2026-10-25T01:30:00.000Z']) {
    assert.equal(isWithinQuietHours(quiet, new Date(at), 'Europe/Berlin'), true)
  }
  assert.equal(
    isWithinQuietHours(quiet, new Date('2026-10-25T02:00:00.000Z'), 'Europe/Berlin'),
    false,
  )
})

const BEGINNINGS = [
  ['an ordinary day', 'Europe/Berlin', '2026-11-21T12:00:00.000Z', '2026-11-20T23:00:00.000Z'],
  ['its first moment', 'Europe/Berlin', '2026-11-20T23:00:00.000Z', '2026-11-20T23:00:00.000Z'],
  ['its last one', 'Europe/Berlin', '2026-11-21T22:59:59.999Z', '2026-11-20T23:00:00.000Z'],
  ['the next one', 'Europe/Berlin', '2026-11-21T23:00:00.000Z', '2026-11-21T23:00:00.000Z'],
  ['UTC', 'UTC', '2026-11-21T00:00:00.001Z', '2026-11-21T00:00:00.000Z'],
  ['23 hours', 'Europe/Berlin', '2026-03-29T21:59:59.999Z', '2026-03-28T23:00:00.000Z'],
  ['after 23 hours', 'Europe/Berlin', '2026-03-29T22:00:00.000Z', '2026-03-29T22:00:00.000Z'],
  ['25 hours', 'Europe/Berlin', '2026-10-25T22:59:59.999Z', '2026-10-24T22:00:00.000Z'],
  ['after 25 hours', 'Europe/Berlin', '2026-10-25T23:00:00.000Z', '2026-10-25T23:00:00.000Z'],
  ['no midnight', 'Africa/Cairo', '2026-04-24T09:00:00.000Z', '2026-04-23T22:00:00.000Z'],
  ['two midnights', 'America/Havana', '2026-11-01T20:00:00.000Z', '2026-11-01T04:00:00.000Z'],
  [
    'a quarter of an hour',
    'Asia/Kathmandu',
    '2026-11-21T18:14:59.999Z',
    '2026-11-20T18:15:00.000Z',
  ],
  ['far east', 'Pacific/Kiritimati', '2026-11-21T10:00:00.000Z', '2026-11-21T10:00:00.000Z'],
  ['far west', 'Pacific/Pago_Pago', '2026-11-21T10:59:59.999Z', '2026-11-20T11:00:00.000Z'],
] as const

it('starts the day at the local start of day', () => {
  for (const [name, timeZone, at, start] of BEGINNINGS) {
    assert.equal(startOfAccountDay(new Date(at), timeZone).toISOString(), start, name)
  }
})

it('starts the day less than 26 hours ago at any time of two years', () => {
  const from = Date.parse('2026-01-01T00:00:00.000Z')
  const hour = 3_600_000
  for (const timeZone of [
    'Europe/Berlin',
    'Africa/Cairo',
    'America/Havana',
    'Australia/Lord_Howe',
  ]) {
    const format = new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short' })
    for (let at = from; at < from + 730 * 24 * hour; at += 7 * hour) {
      const start = startOfAccountDay(new Date(at), timeZone)
      const age = at - start.getTime()
      const place = `${timeZone} ${new Date(at).toISOString()}`
      assert.ok(age >= 0 && age < 26 * hour, place)
      assert.equal(format.format(start), format.format(at), place)
      assert.notEqual(format.format(start.getTime() - 1), format.format(at), place)
    }
  }
})
