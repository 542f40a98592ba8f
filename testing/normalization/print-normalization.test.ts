import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { it } from 'node:test'
import { HASHED_FIELD_RULES } from '../../service/signals/platforms/meta/normalize-identity.ts'
import vectors from '../../service/signals/platforms/meta/vectors/meta-hash-vectors.json' with {
  type: 'json',
}
import { CASES } from './cases.ts'
import {
  isDisputed,
  NORMALIZATION_PAGE_PATH,
  normalizeCase,
  RECORDING,
  renderNormalizationPage,
} from './print-normalization.ts'
import { findReason } from './reasons.ts'
import { SECTIONS } from './sections.ts'

it('has a page that is up to date', () => {
  assert.equal(readFileSync(NORMALIZATION_PAGE_PATH, 'utf8'), renderNormalizationPage())
})

it('has the results of seven other implementations for every case', () => {
  assert.equal(RECORDING.implementations.length, 7)
  const recorded = RECORDING.results.map(({ field, input }) => ({ field, input }))
  assert.deepEqual(
    recorded,
    CASES.map(({ field, input }) => ({ field, input })),
  )
  const ids = RECORDING.implementations.map(({ id }) => id)
  for (const { outcomes } of RECORDING.results) assert.deepEqual(Object.keys(outcomes), ids)
})

it('has a section for every hashed field', () => {
  const fields = SECTIONS.map(({ field }) => field)
  assert.deepEqual(fields.sort(), Object.keys(HASHED_FIELD_RULES).sort())
})

it('shows every vector, in a section of its own field', () => {
  const shown = new Set(CASES.map(({ field, input }) => `${field} ${input}`))
  for (const { field, input } of vectors) assert.ok(shown.has(`${field} ${input}`))
  assert.deepEqual(
    [...new Set(CASES.map(({ field }) => field))],
    SECTIONS.map(one => one.field),
  )
})

it('computes our results as in the vectors', () => {
  for (const { field, input, doc_normalized, doc_sha256 } of vectors) {
    const own = normalizeCase({ field, input })
    const expected = doc_normalized ?? (doc_sha256 === null ? null : { kept: doc_sha256 })
    assert.deepEqual(own, expected, `${field} ${input}`)
  }
})

it('agrees with the vectors about both libraries of Meta', () => {
  for (const row of vectors) {
    const at = CASES.findIndex(one => one.field === row.field && one.input === row.input)
    const { sdk, builder } = RECORDING.results[at]?.outcomes ?? {}
    if (row.normalized !== null) assert.equal(sdk, row.normalized, `${row.field} ${row.input}`)
    if (row.throws !== undefined) assert.deepEqual(sdk, { error: true })
    const text = row.param_builder_normalized
    if (text !== null && !/^[0-9a-f]{64}$/.test(text)) assert.equal(builder, text)
  }
})

it('gives a reason wherever an implementation differs', () => {
  const unexplained = CASES.filter((one, at) => isDisputed(one, at) && findReason(one) === null)
  assert.deepEqual(unexplained, [])
})
