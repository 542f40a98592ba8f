import assert from 'node:assert/strict'
import { it } from 'node:test'
import { isQuiet } from './quiet-hours.ts'

/** In Berlin, where it is one hour later in November. */
function isQuietAt(from: string, until: string, time: string): boolean {
  return isQuiet({ from, until }, new Date(`2026-11-21T${time}.000Z`), 'Europe/Berlin')
}

it('quiet hours begin with their first minute and end before their last one', () => {
  assert.equal(isQuietAt('13:00', '15:30', '11:59:59'), false)
  assert.equal(isQuietAt('13:00', '15:30', '12:00:00'), true)
  assert.equal(isQuietAt('13:00', '15:30', '14:29:59'), true)
  assert.equal(isQuietAt('13:00', '15:30', '14:30:00'), false)
})

it('quiet hours go over midnight when they end earlier than they begin', () => {
  assert.equal(isQuietAt('22:00', '06:00', '20:59:59'), false)
  assert.equal(isQuietAt('22:00', '06:00', '21:00:00'), true)
  assert.equal(isQuietAt('22:00', '06:00', '23:00:00'), true)
  assert.equal(isQuietAt('22:00', '06:00', '04:59:59'), true)
  assert.equal(isQuietAt('22:00', '06:00', '05:00:00'), false)
})

it('quiet hours until midnight end there, and equal minutes are the whole day', () => {
  assert.equal(isQuietAt('22:00', '00:00', '22:59:59'), true)
  assert.equal(isQuietAt('22:00', '00:00', '23:00:00'), false)
  for (const time of ['00:00:00', '07:00:00', '12:34:56']) {
    assert.equal(isQuietAt('08:00', '08:00', time), true)
  }
})

it('the hour that the clock shows twice is quiet both times', () => {
  const quiet = { from: '02:00', until: '03:00' }
  for (const at of ['2026-10-25T00:30:00.000Z', '2026-10-25T01:30:00.000Z']) {
    assert.equal(isQuiet(quiet, new Date(at), 'Europe/Berlin'), true)
  }
  assert.equal(isQuiet(quiet, new Date('2026-10-25T02:00:00.000Z'), 'Europe/Berlin'), false)
})
