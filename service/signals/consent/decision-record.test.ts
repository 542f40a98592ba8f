import assert from 'node:assert/strict'
import { it } from 'node:test'
import {
  buildDecisionRecord,
  decideAll,
  findUnversionedChange,
  RECORDED,
} from '../../../testing/consent-decisions.ts'
import tableRows from './vectors/consent-decision-table.json' with { type: 'json' }

it('a changed decision has a new version of the consent rules', () => {
  const record = buildDecisionRecord()
  assert.equal(findUnversionedChange(RECORDED, record), null)
  assert.deepEqual(RECORDED, record, 'The record is stale: run `npm run consent:record`.')
})

it('the record covers every outcome and every row of the table', () => {
  const { withdrawals, platforms, ...decisions } = decideAll()
  const outcomes = Object.values(decisions).flatMap(group => group.map(({ outcome }) => outcome))
  assert.deepEqual([...new Set(outcomes)].sort(), ['denied', 'granted', 'ledger_only', 'withheld'])
  assert.equal(decisions.table.length, 3 * tableRows.length)
  const ofPlatforms = platforms.flat().map(([outcome]) => outcome)
  assert.deepEqual([...new Set(ofPlatforms)].sort(), ['denied', 'granted', 'withheld'])
  const allowed = withdrawals.map(check => check.allowed)
  assert.deepEqual([...new Set(allowed)].sort(), [false, true])
})

it('a record with changed decisions needs another version', () => {
  const old = { rules_version: '7', digests: { table: 'a', words: 'b' } }
  const changed = { rules_version: '7', digests: { table: 'a', words: 'c' } }
  assert.match(String(findUnversionedChange(old, changed)), /changed \(words\) under version 7/)
  assert.equal(findUnversionedChange(old, { ...changed, rules_version: '8' }), null)
  assert.equal(findUnversionedChange(old, { ...old, digests: { ...old.digests, tcf: 'd' } }), null)
  const without = { rules_version: '7', digests: { table: 'a' } }
  assert.match(String(findUnversionedChange(old, without)), /changed \(words\)/)
})
