import assert from 'node:assert/strict'
import { it } from 'node:test'
import { parseReportCommand } from './report-command.ts'
import { StartError } from './role.ts'

const ID = '0190bbbb-0000-7000-8000-00000000000A'

it('shows every tracker of a day unless it is told more', () => {
  const shown = { date: '2026-11-20', trackerId: null, refresh: false }
  assert.deepEqual(parseReportCommand(['--date', '2026-11-20']), shown)
  assert.deepEqual(parseReportCommand(['--date=2026-11-20', '--tracker', ID, '--refresh']), {
    date: '2026-11-20',
    trackerId: ID.toLowerCase(),
    refresh: true,
  })
})

it('says how it is used when the day is missing or an option is unknown', () => {
  const misuses = [
    [],
    ['--refresh'],
    ['2026-11-20'],
    ['--date', '2026-11-20', '--colour'],
    ['--date'],
  ]
  for (const misuse of misuses) {
    assert.throws(() => parseReportCommand(misuse), isStartError(/^Usage: .*--date YYYY-MM-DD/))
  }
})

it('says which option is wrong', () => {
  const wrongDay = isStartError(/--date takes a day such as 2026-11-20, not 2026-02-30/)
  assert.throws(() => parseReportCommand(['--date', '2026-02-30']), wrongDay)
  const wrongId = isStartError(/--tracker takes an id/)
  assert.throws(() => parseReportCommand(['--date', '2026-11-20', '--tracker', 'shop']), wrongId)
})

function isStartError(message: RegExp) {
  return (error: unknown) => error instanceof StartError && message.test(error.message)
}
