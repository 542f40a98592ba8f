import assert from 'node:assert/strict'
import { appendFileSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { it, type TestContext } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { runCommand } from '../../../testing/fixtures/command-line.ts'
import { createTestDatabase } from '../../../testing/fixtures/database.ts'
import { queryFile, toComparable } from '../../../testing/fixtures/duckdb.ts'
import { createInstallation } from '../../../testing/fixtures/program.ts'
import { samplePurchase } from '../../../testing/fixtures/sample-events.ts'
import { isShortRun } from '../../../testing/fixtures/seeded-random.ts'
import { startTestService } from '../../../testing/fixtures/service.ts'
import {
  createTrackers,
  generateEvents,
  LARGE_DESTINATION,
  LARGE_TRACKER,
} from '../../../testing/performance/large-store.ts'
import type { Database } from '../../runtime/db/database.ts'
import { EXPORT_KINDS } from '../../signals/reports/export-records.ts'
import { makeDueReports } from '../../signals/reports/make-reports.ts'
import { takeDueSnapshots } from '../../signals/reports/take-snapshots.ts'
import { formatRecord, listExportColumns } from './export-formats.ts'

const DAY_SECONDS = 86_400
const KILLS = 10
const EVENTS = 40_000
/** Twenty pages. */
const SNAPSHOT_DAYS = 1_000

function emptyFolder(test: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'signalbox-export-'))
  test.after(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** A tracker with a line of each kind, and the command as an operator types it. */
async function startWithHistory(test: TestContext) {
  const service = await startTestService(test)
  const order = { value: '-19.950', currency: 'EUR', order_id: '=cmd()|1,"x"' }
  await service.submit(samplePurchase({ event_id: 'order-1', value_data: order }))
  await service.submit(samplePurchase({ event_id: 'order-2' }))
  await service.deliver()
  service.clock.advance(3 * DAY_SECONDS)
  await takeDueSnapshots(service.delivery, { now: service.clock.now() })
  service.clock.advance(DAY_SECONDS)
  await makeDueReports(service.delivery, { now: service.clock.now() })
  const folder = emptyFolder(test)
  const run = async (...options: string[]) =>
    runCommand(['export', ...options], {
      environment: { DATABASE_URL: service.connectionString },
      now: service.clock.now,
    })
  const write = async (kind: string, format: string) => {
    const path = join(folder, `${kind}.${format}`)
    const tracker = service.tracker.trackerId
    const { code, stderr, stdout } = await run(
      ...[kind, '--tracker', tracker, '--format', format, '--out', path],
    )
    assert.deepEqual({ code, stderr }, { code: 0, stderr: '' })
    return { path, stdout, text: readFileSync(path, 'utf8') }
  }
  return { service, folder, run, write }
}

function parseLines(text: string): Record<string, unknown>[] {
  return text
    .split('\n')
    .slice(0, -1)
    .map(line => JSON.parse(line))
}

it('writes events, deliveries and reports with the members of the API', async test => {
  const { service, write } = await startWithHistory(test)
  const { stdout, text, path } = await write('events', 'ndjson')
  assert.match(stdout, /: 2 events, received before 2026-11-25T11:59:50\.000Z\.\n$/)
  assert.equal(statSync(path).mode & 0o777, 0o600)
  const [first, second] = parseLines(text)
  assert.deepEqual([first?.id, second?.id], ['order-1', 'order-2'])
  assert.match(text, /"value_amount":-19\.950,/)
  const { event } = (await service.read('order-2')).body
  for (const name of ['event_name', 'event_time', 'consent', 'value_data', 'user_data_hashed']) {
    assert.deepEqual(second?.[name], event[name], name)
  }
  const deliveries = parseLines((await write('deliveries', 'ndjson')).text)
  assert.deepEqual(
    deliveries.map(({ event_id, status }) => [event_id, status]),
    [
      // The platform takes no purchase with a negative value.
      ['order-1', 'failed:permanent'],
      ['order-2', 'accepted'],
    ],
  )
  const reports = parseLines((await write('reports', 'ndjson')).text)
  assert.ok(reports.length >= 1)
  assert.equal(reports.at(-1)?.report_date, '2026-11-21')
  assert.equal(reports.at(-1)?.accepted_count, 1)
  const url = '/api/v1/reports/reconciliation?date=2026-11-21'
  const [{ destination: _, ...report }] = (await service.request('GET', url)).body.reports
  assert.deepEqual(reports.at(-1), report)
})

it('writes snapshots of match quality with the members of the API', async test => {
  const { service, write } = await startWithHistory(test)
  const { snapshots } = (await service.request('GET', '/api/v1/reports/emq')).body
  assert.equal(snapshots.length, 1)
  const { text } = await write('match-quality', 'ndjson')
  assert.deepEqual(parseLines(text), snapshots)
  assert.match(text, /"score":\d+\.\d+,"week_over_week_change":null,/)
})

it('writes complete answers that one response of the API would leave out', async test => {
  const { service, write } = await startWithHistory(test)
  const answer = JSON.stringify({ web: 'x'.repeat(3_500_000) })
  const { trackerId, destinationId } = service.tracker
  await insertSnapshots(service.database, { trackerId, destinationId, days: 3, answer })
  const written = parseLines((await write('match-quality', 'ndjson')).text)
  assert.equal(written.length, 4)
  assert.deepEqual(
    written
      .slice(1)
      .map(({ measured_at, score, platform_response }) => [
        ...[measured_at, score],
        JSON.stringify(platform_response) === answer,
      ]),
    [
      ['2026-11-20T06:00:00.000Z', 6.25, true],
      ['2026-11-19T06:00:00.000Z', 6.25, true],
      ['2026-11-18T06:00:00.000Z', 6.25, true],
    ],
  )
})

it('leaves out a snapshot that was taken after the export began', async test => {
  const { service, folder, run } = await startWithHistory(test)
  await takeDueSnapshots(service.delivery, { now: service.clock.now() })
  const options = ['match-quality', '--tracker', service.tracker.trackerId, '--out']
  const early = await run(...options, join(folder, 'early'))
  assert.match(early.stdout, /: 1 snapshots of match quality, received before 2026-11-25T11:59:50/)
  service.clock.advance(60)
  const late = await run(...options, join(folder, 'late'))
  assert.match(late.stdout, /: 2 snapshots of match quality,/)
})

it('writes identity as digests only', async test => {
  const { write } = await startWithHistory(test)
  for (const format of ['ndjson', 'csv']) {
    for (const kind of ['events', 'deliveries']) {
      const { text } = await write(kind, format)
      assert.doesNotMatch(text, /fb\.1\.|jane@|visitor-|"click_ids"|"session"|Mozilla/)
    }
  }
})

it('has the same columns in CSV and in JSON', async test => {
  const { write } = await startWithHistory(test)
  for (const kind of EXPORT_KINDS) {
    const [record] = parseLines((await write(kind, 'ndjson')).text)
    assert.deepEqual(Object.keys(record ?? {}), listExportColumns(kind), kind)
    const [header] = (await write(kind, 'csv')).text.split('\r\n')
    assert.equal(header, listExportColumns(kind).join(','))
  }
})

it('writes Parquet that another reader reads as the same records', async test => {
  const { write } = await startWithHistory(test)
  for (const kind of EXPORT_KINDS) {
    const records = parseLines((await write(kind, 'ndjson')).text)
    const rows = await queryFile((await write(kind, 'parquet')).path, 'select *')
    assert.ok(records.length > 0)
    assert.deepEqual(rows.map(toComparable), records.map(toComparable), kind)
  }
})

it('writes CSV in which no cell is a formula and a negative value is a number', async test => {
  const { write } = await startWithHistory(test)
  const { text } = await write('events', 'csv')
  assert.ok(text.includes(`,"'=cmd()|1,""x""",-19.950,EUR,`), text)
  for (const id of [' =1', '＝1', '-1']) {
    assert.match(formatRecord('csv', 'events', { id }), new RegExp(`^'${id},`))
  }
})

it('fails instead of leaving out an event that it cannot look up', async test => {
  const { service, folder, run } = await startWithHistory(test)
  await service.database.pool.query(
    `update events set created_at = created_at + interval '1 microsecond'
     where event_id = 'order-2'`,
  )
  for (const kind of ['events', 'deliveries']) {
    const out = join(folder, kind)
    const { code, stderr } = await run(kind, '--tracker', service.tracker.trackerId, '--out', out)
    assert.equal(code, 1)
    assert.match(stderr, /^The event order-2 has a time finer than a millisecond, [^\n]+\.\n$/)
    assert.equal(existsSync(out), false)
  }
})

it('refuses to overwrite, and to continue as another export', async test => {
  const { service, folder, run, write } = await startWithHistory(test)
  const { path, text } = await write('events', 'ndjson')
  const options = (kind: string, out: string, ...more: string[]) => [
    ...[kind, '--tracker', service.tracker.trackerId, '--out', out],
    ...more,
  ]
  assert.match((await run(...options('events', path))).stderr, /exists already/)
  assert.match((await run(...options('events', path, '--resume'))).stdout, /is complete already/)
  assert.equal(readFileSync(path, 'utf8'), text)
  assert.match(
    (await run(...options('events', path, '--format', 'xml'))).stderr,
    /ndjson, csv, parquet/,
  )

  const unfinished = join(folder, 'unfinished')
  appendFileSync(`${unfinished}.part`, '')
  const state = { kind: 'events', tracker_id: 'x', format: 'csv' }
  appendFileSync(`${unfinished}.part.json`, JSON.stringify({ bytes: 0, state }))
  const again = await run(...options('events', unfinished))
  assert.match(again.stderr, /unfinished export; continue it with --resume/)
  const other = await run(...options('deliveries', unfinished, '--resume'))
  assert.match(other.stderr, /unfinished export of the events of tracker x as csv/)
  assert.notEqual(other.code, 0)
})

it('equals an uninterrupted export after kills and a torn write', {
  skip: isShortRun() ? 'in npm run test:full only' : false,
}, async test => {
  const { database, connectionString } = await createTestDatabase(test)
  await createTrackers(database)
  await generateEvents(database, { from: 1, until: EVENTS })
  const owner = { trackerId: LARGE_TRACKER, destinationId: LARGE_DESTINATION }
  await insertSnapshots(database, { ...owner, days: SNAPSHOT_DAYS, answer: '{"web":[]}' })
  const folder = emptyFolder(test)
  const environment = { DATABASE_URL: connectionString }
  const installation = createInstallation(test)
  const kinds = [
    ['events', 'ndjson'],
    ['deliveries', 'csv'],
    ['match-quality', 'csv'],
    ['events', 'parquet'],
  ] as const
  for (const [kind, format] of kinds) {
    const options = [kind, '--tracker', LARGE_TRACKER, '--format', format]
    const whole = join(folder, `${kind}-whole.${format}`)
    const { code } = await runCommand(['export', ...options, '--out', whole], { environment })
    assert.equal(code, 0)

    const path = join(folder, `${kind}-killed.${format}`)
    const start = () =>
      installation.start({
        role: 'export',
        environment,
        arguments: [...options, '--out', path, '--resume'],
      })
    let seen = 0
    // A file of so many events has two row groups.
    const killsMax = format === 'parquet' ? 1 : KILLS
    for (let kills = 0; kills < killsMax; kills += 1) {
      const program = start()
      const before = seen
      while (readRecords(path) <= before) await delay(5)
      seen = readRecords(path)
      await program.kill('SIGKILL')
      assert.ok(!existsSync(path), 'it was killed in the middle')
      appendFileSync(`${path}.part`, '{"torn":')
    }
    assert.deepEqual(await start().exited, { code: 0, signal: null })
    assert.ok(readFileSync(path).equals(readFileSync(whole)), kind)
    assert.ok(!existsSync(`${path}.part.json`))
  }
})

/** The records of the last checkpoint. */
function readRecords(path: string): number {
  const checkpoint = `${path}.part.json`
  return existsSync(checkpoint) ? JSON.parse(readFileSync(checkpoint, 'utf8')).state.records : 0
}

interface SnapshotDays {
  trackerId: string
  destinationId: string
  /** So many days up to 2026-11-20. */
  days: number
  answer: string
}

async function insertSnapshots(
  { pool }: Database,
  { trackerId, destinationId, days, answer }: SnapshotDays,
): Promise<void> {
  await pool.query(
    `insert into emq_snapshots
     select $1, 1000 + number, $2, date '2026-11-20' - number, 6.25, null, false, $3, at, at, at
     from generate_series(0, $4::integer - 1) as number
     cross join lateral (
       select (date '2026-11-20' - number + time '06:00') at time zone 'UTC') as taken(at)`,
    [trackerId, destinationId, answer, days],
  )
}
