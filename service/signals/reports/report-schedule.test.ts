import assert from 'node:assert/strict'
import { it } from 'node:test'
import { isReportDue, listReportDays, type ReportAttempt } from './report-schedule.ts'

const DAY = '2026-11-20'

function at(text: string): Date {
  return new Date(`2026-11-${text}Z`)
}

function trial(status: string, updatedAt: string, triedAt = updatedAt): ReportAttempt {
  return { status, updatedAt: at(updatedAt), triedAt: at(triedAt) }
}

it('is due from 06:00 of the next day until it is made', () => {
  assert.equal(isReportDue(DAY, undefined, at('21T05:59:59')), false)
  assert.equal(isReportDue(DAY, undefined, at('21T06:00:00')), true)
  assert.equal(isReportDue(DAY, undefined, at('26T17:00:00')), true)
})

it('is due at its time although a person made it earlier', () => {
  assert.equal(isReportDue(DAY, trial('explained', '20T15:00:00'), at('21T05:59:59')), false)
  assert.equal(isReportDue(DAY, trial('explained', '20T15:00:00'), at('21T06:00:00')), true)
  const failed = trial('explained', '20T15:00:00', '21T06:00:00')
  assert.equal(isReportDue(DAY, failed, at('21T06:59:59')), false)
  assert.equal(isReportDue(DAY, failed, at('21T07:00:00')), true)
})

it('is due again from 06:00 of the third morning', () => {
  for (const madeAt of ['21T06:00:00', '22T12:00:00', '23T05:59:00']) {
    assert.equal(isReportDue(DAY, trial('explained', madeAt), at('23T05:59:59')), false)
    assert.equal(isReportDue(DAY, trial('explained', madeAt), at('23T06:00:00')), true)
  }
})

it('is final when made on the third morning or later', () => {
  for (const status of ['matched', 'explained', 'unexplained', 'pending']) {
    assert.equal(isReportDue(DAY, trial(status, '23T06:00:00'), at('23T06:00:01')), false)
    assert.equal(isReportDue(DAY, trial(status, '25T06:00:00'), at('26T06:00:00')), false)
  }
})

it('is retried hourly without counts until the fourth morning', () => {
  const tries = [
    ['21T06:00:00', '21T06:59:59', false],
    ['21T06:00:00', '21T07:00:00', true],
    ['23T05:50:00', '23T06:00:00', true],
    ['23T06:00:00', '23T06:30:00', false],
    ['23T06:00:00', '23T07:00:00', true],
    ['24T04:59:00', '24T05:59:59', true],
    ['24T04:59:00', '24T06:00:00', false],
  ] as const
  for (const [triedAt, now, isDue] of tries) {
    assert.equal(isReportDue(DAY, trial('unavailable', triedAt), at(now)), isDue, now)
  }
})

it('is retried hourly for the second report even with counts of the first', () => {
  const tries = [
    ['23T06:00:00', '23T06:59:59', false],
    ['23T06:00:00', '23T07:00:00', true],
    ['24T05:30:00', '24T07:00:00', false],
  ] as const
  for (const [triedAt, now, isDue] of tries) {
    assert.equal(isReportDue(DAY, trial('matched', '21T06:00:00', triedAt), at(now)), isDue, now)
  }
})

it('is tried once after that', () => {
  assert.equal(isReportDue(DAY, trial('unavailable', '26T08:00:00'), at('26T10:00:00')), false)
})

it('lists the seven days before today', () => {
  assert.deepEqual(listReportDays(at('21T00:00:00')), [
    '2026-11-14',
    '2026-11-15',
    '2026-11-16',
    '2026-11-17',
    '2026-11-18',
    '2026-11-19',
    '2026-11-20',
  ])
})
