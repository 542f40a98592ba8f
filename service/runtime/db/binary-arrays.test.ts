import assert from 'node:assert/strict'
import { it } from 'node:test'
import fc from 'fast-check'
import { createTestDatabase } from '../../../testing/fixtures/database.ts'
import { toBinaryParameters, unnestBinary } from './binary-arrays.ts'
import type { BatchColumn } from './sql-fragments.ts'

/** PostgreSQL stores every character but NUL. */
const text = fc.string({ unit: 'binary' }).map(value => value.replaceAll('\0', ''))
const json = fc.jsonValue().map(value => JSON.stringify(value))
const time = fc
  .date({ min: new Date('0001-01-01T00:00:00Z'), max: new Date('9999-12-31T23:59:59.999Z') })
  .filter(date => !Number.isNaN(date.getTime()))
  .map(date => date.toISOString())
const hex = fc.uint8Array({ maxLength: 40 }).map(bytes => Buffer.from(bytes).toString('hex'))

/** Values of each type, as a column gives them. */
const VALUES: Record<string, fc.Arbitrary<string>> = {
  uuid: fc.uuid(),
  text,
  json,
  timestamptz: time,
  bytea: hex.map(digits => `\\x${digits}`),
  boolean: fc.constantFrom('t', 'f'),
  smallint: fc.integer({ min: -32_768, max: 32_767 }).map(String),
  integer: fc.integer().map(String),
  bigint: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map(String),
  numeric: fc.constantFrom('0', '19.95', '-1', '123456789012345678901234567890.5', '1e-7'),
}

type Row = Record<string, string | null>

const COLUMNS: BatchColumn<Row>[] = [
  { name: 'first', type: 'integer', text: () => '7' },
  ...Object.keys(VALUES).map(type => ({
    name: `of_${type}`,
    type,
    text: (row: Row) => row[type] ?? null,
  })),
]

/** What PostgreSQL reads from the text of each value is what it must read from the binary form. */
const AS_TEXT = Object.keys(VALUES)
  .map(type => `of_${type}::text as "${type}"`)
  .join(', ')

it('gives PostgreSQL the values that their texts stand for, with nulls and in order', async test => {
  const { database } = await createTestDatabase(test)
  const from = unnestBinary(COLUMNS, { alias: 'given', firstParameter: 1, number: 'number' })
  const rows = fc.array(
    fc.record(
      Object.fromEntries(Object.entries(VALUES).map(([type, values]) => [type, fc.option(values)])),
    ),
    { maxLength: 12 },
  )
  await fc.assert(
    fc.asyncProperty(rows, async given => {
      const { rows: read } = await database.pool.query({
        text: `select number, first, ${AS_TEXT} from ${from} order by number`,
        values: toBinaryParameters(COLUMNS, given),
      })
      const expected: unknown[] = []
      for (const [index, row] of given.entries()) {
        const texts = Object.keys(VALUES).map(type => row[type] ?? null)
        const casts = Object.keys(VALUES).map(
          (type, at) => `$${at + 1}::${type}::text as "${type}"`,
        )
        const one = await database.pool.query(`select ${casts.join(', ')}`, texts)
        expected.push({ number: index + 1, first: 7, ...one.rows[0] })
      }
      assert.deepEqual(read, expected)
    }),
    { numRuns: 60, examples: [[[]], [[{}]], [[{}, { text: '' }, {}]]] },
  )
})

it('keeps text that is longer than its first buffer', async test => {
  const { database } = await createTestDatabase(test)
  const columns = COLUMNS.slice(0, 3)
  const long = 'ü€👩'.repeat(20_000)
  const { rows } = await database.pool.query({
    text: `select of_text from ${unnestBinary(columns, { alias: 'given', firstParameter: 1 })}`,
    values: toBinaryParameters(columns, [{ text: long }, { text: 'short' }, {}]),
  })
  assert.deepEqual(
    rows.map(({ of_text }) => of_text),
    [long, 'short', null],
  )
})

it('refuses a type that it does not know, and a time that is none', () => {
  const of = (type: string, value: string) => () =>
    toBinaryParameters([{ name: 'value', type, text: () => value }], [{}])
  assert.throws(of('date', '2026-11-21'), /no binary form of date/)
  assert.throws(of('timestamptz', 'infinity'), RangeError)
})
