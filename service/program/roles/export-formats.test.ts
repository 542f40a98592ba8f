import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { it, type TestContext } from 'node:test'
import { decimalToken } from '@signalbox/contract/decimal.ts'
import { queryFile } from '../../../testing/fixtures/duckdb.ts'
import type { ExportRecord } from '../../signals/reports/export-records.ts'
import { createExportEncoder, listExportColumns } from './export-formats.ts'

const RECORDS = 45_000
const PAGE = 1_000
const REQUEST = { kind: 'match-quality', format: 'parquet' } as const

/** Snapshots, because they have every kind of column. */
function createRecord(number: number): ExportRecord {
  const at = new Date(Date.UTC(2026, 0, 1) + number).toISOString()
  const score = decimalToken(`${number % 2 ? '-' : ''}123456789012345.${100_000 + number}`)
  return {
    id: number,
    workspace_id: 1,
    signal_tracker_id: 'é'.repeat(3),
    destination_id: null,
    score,
    week_over_week_change: null,
    alerted: number % 3 === 0,
    platform_response: { number, text: '"' },
    measured_at: at,
    created_at: at,
    updated_at: at,
  }
}

function writeFile(test: TestContext, content: Buffer): string {
  const folder = mkdtempSync(join(tmpdir(), 'signalbox-parquet-'))
  test.after(() => rmSync(folder, { recursive: true }))
  const path = join(folder, 'file.parquet')
  writeFileSync(path, content)
  return path
}

/** The whole file. With `isResumed`, a new encoder goes on after each part, as after a kill. */
async function encode(isResumed: boolean): Promise<Buffer> {
  let encoder = await createExportEncoder({ ...REQUEST, saved: null })
  let content = encoder.begin()
  for (let first = 0; first < RECORDS; first += PAGE) {
    const isLast = first + PAGE === RECORDS
    encoder.add(Array.from({ length: PAGE }, (_, index) => createRecord(first + index)))
    const part = encoder.take(isLast)
    if (part === null) continue
    content = Buffer.concat([content, part])
    if (!isResumed || isLast) continue
    const saved = { bytes: content.length, encoder: encoder.saveState() }
    encoder = await createExportEncoder({ ...REQUEST, saved: JSON.parse(JSON.stringify(saved)) })
  }
  return content
}

it('a Parquet file that was continued at each row group equals one that was not', async test => {
  const whole = await encode(false)
  assert.ok(whole.equals(await encode(true)))
  const path = writeFile(test, whole)
  const [summary] = await queryFile(
    path,
    `select count(*)::integer as records, count(distinct id)::integer as ids,
       count(destination_id)::integer as present, sum(score)::varchar as sum,
       min(score)::varchar as smallest, bool_or(alerted) as alerted,
       any_value(typeof(score)) as money, any_value(typeof(created_at)) as time,
       max(measured_at)::varchar as newest, max(signal_tracker_id) as text,
       sum(cast(platform_response->>'$.number' as integer))::integer as numbers`,
  )
  assert.deepEqual(summary, {
    records: RECORDS,
    ids: RECORDS,
    present: 0,
    sum: '-0.022500',
    smallest: '-123456789012345.144999',
    alerted: true,
    money: 'DECIMAL(21,6)',
    time: 'TIMESTAMP WITH TIME ZONE',
    newest: '2026-01-01 00:00:44.999+00',
    text: 'ééé',
    numbers: (RECORDS * (RECORDS - 1)) / 2,
  })
  const groups = await queryFile(path, 'select distinct row_group_id', 'parquet_metadata')
  assert.equal(groups.length, 3)
})

it('a Parquet file without a record has its columns', async test => {
  const encoder = await createExportEncoder({ ...REQUEST, saved: null })
  const content = Buffer.concat([encoder.begin(), encoder.take(true) ?? Buffer.alloc(0)])
  const path = writeFile(test, content)
  assert.deepEqual(await queryFile(path, 'select *'), [])
  const columns = await queryFile(path, 'select name', 'parquet_schema')
  assert.deepEqual(
    columns.slice(1).map(({ name }) => name),
    listExportColumns('match-quality'),
  )
})

it('refuses a decimal that would be rounded', async () => {
  const encoder = await createExportEncoder({ ...REQUEST, saved: null })
  for (const text of ['0.1234567', '1234567890123456']) {
    const record = { ...createRecord(1), score: decimalToken(text) }
    assert.throws(() => encoder.add([record]), /does not fit into DECIMAL\(21, 6\)/)
  }
})
