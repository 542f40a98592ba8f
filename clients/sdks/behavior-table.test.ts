import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { it } from 'node:test'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { assertEveryCaseRan, readBehaviorTable, readTableFile } from './behavior-table.ts'

const { now, cases } = readBehaviorTable()
const schema = JSON.parse(readFileSync(join(import.meta.dirname, 'behavior.schema.json'), 'utf8'))

it('has the members that its schema describes, with every fixture in place', () => {
  const ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: true })
  const isValid = ajv.compile(schema)
  const table = readTableFile()
  assert.ok(isValid({ ...table, cases }), ajv.errorsText(isValid.errors))
})

it('has at least 80 cases, each with an id and a title of its own', () => {
  assert.ok(cases.length >= 80)
  assert.equal(new Set(cases.map(({ id }) => id)).size, cases.length)
  assert.equal(new Set(cases.map(({ title }) => title)).size, cases.length)
})

it('uses every fixture', () => {
  const table = readTableFile()
  const text = JSON.stringify(table)
  const idle = Object.keys(table.fixtures).filter(name => !text.includes(`"@${name}"`))
  assert.deepEqual(idle, [])
})

it('has an answer for every request', () => {
  for (const { id, answers, answers_by_event: byEvent, calls } of cases) {
    const count = byEvent ? Object.values<unknown[]>(byEvent).flat().length : answers.length
    assert.equal(count, calls.length, id)
  }
  assert.equal(new Date(now).toISOString(), now)
})

it('says so when a suite leaves out a case', () => {
  const ids = cases.map(({ id }) => id)
  assertEveryCaseRan(ids)
  assert.throws(() => assertEveryCaseRan(ids.slice(1)))
  assert.throws(() => assertEveryCaseRan([...ids, 'another']))
})
