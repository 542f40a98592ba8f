import assert from 'node:assert/strict'
import { it } from 'node:test'
import fc from 'fast-check'
import { createTestDatabase } from '../../../testing/fixtures/database.ts'
import {
  arrayLiteral,
  type BatchColumn,
  toArrayParameters,
  unnestColumns,
} from './sql-fragments.ts'

const AWKWARD = [
  '',
  ' ',
  'NULL',
  'null',
  '"',
  '\\',
  '\\"',
  '\\\\',
  '{}',
  '{a,b}',
  ',',
  "'",
  '\n\r\t\b\f\v',
  '\u00e9\u0301',
  '日本語',
  '👩‍👩‍👧',
  '\u2028\u2029\ufeff',
  '$1',
  '--',
  '[2:3]={1,2}',
]

/** PostgreSQL stores every character but NUL. */
const text = fc.oneof(
  fc.constantFrom(...AWKWARD),
  fc.string({ unit: 'binary' }).map(value => value.replaceAll('\0', '')),
)

it('round-trips any text through PostgreSQL', async test => {
  const { database } = await createTestDatabase(test)
  const values = fc.array(fc.option(text), { maxLength: 20 })
  await fc.assert(
    fc.asyncProperty(values, async list => {
      const { rows } = await database.pool.query('select $1::text[] as list', [arrayLiteral(list)])
      assert.deepEqual(rows[0].list, list)
    }),
    { numRuns: 200, examples: [[AWKWARD], [[]], [[null]], [['NULL', null, '']]] },
  )
})

it('round-trips any JSON as it was written, and null', async test => {
  const { database } = await createTestDatabase(test)
  const columns: BatchColumn<string | null>[] = [
    { name: 'label', type: 'text', text: () => 'row' },
    { name: 'value', type: 'json', text: row => row },
  ]
  const from = unnestColumns(columns, { alias: 'batch', firstParameter: 1 })
  const json = fc.jsonValue().map(value => JSON.stringify(value))
  const separators = ['"\\u001f"', '{"a":"\\"},{"}', '""', '{}', 'null']
  await fc.assert(
    fc.asyncProperty(fc.array(fc.option(json), { maxLength: 20 }), async rows => {
      const text = `select label, value::text as value from ${from}`
      const stored = await database.pool.query(text, toArrayParameters(columns, rows))
      assert.deepEqual(
        stored.rows,
        rows.map(value => ({ label: 'row', value })),
      )
    }),
    { numRuns: 200, examples: [[separators], [[]], [[null]], [[null, null]], [[null, '{}']]] },
  )
})

it('builds rows of columns, with null for a missing value', async test => {
  const { database } = await createTestDatabase(test)
  const columns: BatchColumn<{ name: string | null; count: number }>[] = [
    { name: 'name', type: 'text', text: row => row.name },
    { name: 'count', type: 'integer', text: row => String(row.count) },
  ]
  const given = [
    { name: 'a,"b"', count: 1 },
    { name: null, count: -2 },
  ]
  const from = unnestColumns(columns, { alias: 'batch', firstParameter: 2 })
  assert.equal(from, 'unnest($2::text[], $3::integer[]) as batch(name, count)')
  const { rows } = await database.pool.query(`select $1::text as label, * from ${from}`, [
    'x',
    ...toArrayParameters(columns, given),
  ])
  assert.deepEqual(
    rows,
    given.map(row => ({ label: 'x', ...row })),
  )
})

it('returns no rows for an empty batch', async test => {
  const { database } = await createTestDatabase(test)
  const columns: BatchColumn<string>[] = [{ name: 'name', type: 'text', text: row => row }]
  const from = unnestColumns(columns, { alias: 'batch', firstParameter: 1 })
  const { rows } = await database.pool.query(
    `select * from ${from}`,
    toArrayParameters(columns, []),
  )
  assert.deepEqual(rows, [])
})
