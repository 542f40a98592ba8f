import assert from 'node:assert/strict'
import { it, type TestContext } from 'node:test'
import { createTestDatabase } from '../../../testing/fixtures/database.ts'
import type { DayCounts } from '../platforms/platform.ts'
import { type DayReconciliation, describeUnavailableDay, reconcileDay } from './reconcile-day.ts'
import {
  findEarlierCounts,
  findReportAttempts,
  findReports,
  reportAttemptKey,
  saveReport,
} from './reconciliation-store.ts'

const TRACKER_ID = '0190aaaa-0000-7000-8000-000000000001'
const DESTINATION_ID = '0190bbbb-0000-7000-8000-000000000001'
const KEY = { trackerId: TRACKER_ID, destinationId: DESTINATION_ID, day: '2026-11-20' }
const OWN = { sent: [], waiting: { names: [], isTruncated: false } }

function at(text: string): Date {
  return new Date(`2026-11-${text}Z`)
}

function counted(others: number) {
  const server: DayCounts = { kind: 'counts', counts: { Lead: others }, isTruncated: false }
  return reconcileDay({ ...OWN, server, browser: null, hasOtherSenders: false })
}

/** What is stored with a report without counts. */
function notCounted(sentence: string) {
  const values = { accepted: [], reported: null, noValues: null }
  const unavailable = { cause: 'credential' as const, sentence }
  const rest = { countSource: null, sentNames: [], outcomes: [], requests: null, values }
  return { details: { ...rest, unavailable } }
}

async function storeOf(test: TestContext) {
  const { database } = await createTestDatabase(test)
  return {
    database,
    keep: (madeAt: string, reconciliation: DayReconciliation = counted(1), key: object = {}) =>
      saveReport(database, { ...KEY, ...key, reconciliation, madeAt: at(madeAt) }),
    report: async () => (await findReports(database, TRACKER_ID, KEY.day))[0],
    trial: async () =>
      (await findReportAttempts(database, [TRACKER_ID], KEY.day)).get(
        reportAttemptKey({ trackerId: TRACKER_ID, id: DESTINATION_ID }, KEY.day),
      ),
  }
}

it('replaces an older report under the same ID', async test => {
  const { keep, report } = await storeOf(test)
  await keep('21T06:00:00')
  await keep('23T06:00:00', counted(2))
  const kept = await report()
  assert.deepEqual([kept?.id, kept?.platformCount], [1, 2])
  assert.deepEqual([kept?.createdAt, kept?.updatedAt], [at('21T06:00:00'), at('23T06:00:00')])
})

it('does not overwrite a report that started later', async test => {
  const { keep, report } = await storeOf(test)
  await keep('23T06:00:00', counted(2))
  await keep('23T05:59:00')
  const kept = await report()
  assert.deepEqual([kept?.platformCount, kept?.updatedAt], [2, at('23T06:00:00')])
})

it('keeps earlier counts when there are none now, and records the attempt', async test => {
  const { keep, report, trial } = await storeOf(test)
  await keep('21T06:00:00')
  const before = await report()
  await keep('23T06:00:00', describeUnavailableDay(OWN), notCounted('No answer.'))
  const trouble = 'The day was not compared. No answer.'
  assert.deepEqual(await report(), { ...before, triedAt: at('23T06:00:00'), trouble })
  assert.deepEqual(await trial(), {
    status: 'explained',
    updatedAt: at('21T06:00:00'),
    triedAt: at('23T06:00:00'),
  })
  await keep('23T07:00:00')
  assert.equal((await report())?.trouble, null)
})

it('replaces an unavailable report with the next one', async test => {
  const { keep, report } = await storeOf(test)
  await keep('21T06:00:00', describeUnavailableDay(OWN), notCounted('No answer.'))
  await keep('21T07:00:00', describeUnavailableDay(OWN), notCounted('The token is refused.'))
  assert.match((await report())?.details?.unavailable?.sentence ?? '', /The token is refused/)
  await keep('21T08:00:00')
  assert.equal((await report())?.status, 'explained')
})

it('assigns unique IDs when many reports of a tracker are saved concurrently', async test => {
  const { database, keep } = await storeOf(test)
  const days = Array.from({ length: 8 }, (_, index) => `2026-11-${index + 10}`)
  await Promise.all(days.map(day => keep('21T06:00:00', counted(1), { day })))
  const { rows } = await database.pool.query('select id from reconciliation_reports order by id')
  assert.deepEqual(
    rows.map(({ id }) => id),
    [1, 2, 3, 4, 5, 6, 7, 8],
  )
})

it('finds the last reports of a destination before a day, newest first', async test => {
  const { database, keep } = await storeOf(test)
  for (const day of ['17', '18', '19', '20', '21']) {
    await keep('21T06:00:00', counted(Number(day)), { day: `2026-11-${day}` })
  }
  const destinationId = '0190bbbb-0000-7000-8000-000000000002'
  await keep('21T06:00:00', counted(99), { day: '2026-11-19', destinationId })
  const earlier = await findEarlierCounts(database, KEY, 2)
  assert.deepEqual(
    earlier.map(({ meta }) => meta),
    [{ Lead: 19 }, { Lead: 18 }],
  )
})
