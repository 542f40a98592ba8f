import assert from 'node:assert/strict'
import { it } from 'node:test'
import fc from 'fast-check'
import { check } from '../../contract/assert-documented.ts'
import { jsonPointer } from '../../contract/document-checks.ts'
import { boundaryValues, listMembers } from './boundary-values.ts'
import { documentOperations } from './openapi-operations.ts'
import { arbitrarySchemaValue } from './schema-values.ts'

const SAMPLES = { numRuns: 200, seed: 1 }
const writing = documentOperations.filter(({ body }) => body !== null)

function bodyPointer(address: readonly [string, string] | null): string {
  const [path = '', method = ''] = address ?? []
  const media = ['requestBody', 'content', 'application/json', 'schema']
  return jsonPointer('paths', path, method, ...media)
}

it('generates valid bodies for every operation with a body', () => {
  assert.ok(writing.length >= 5)
  for (const { operationId, address, body } of writing) {
    for (const value of fc.sample(arbitrarySchemaValue(body ?? {}), SAMPLES)) {
      const faults = check(bodyPointer(address), value)
      assert.deepEqual(faults, [], `${operationId}: ${JSON.stringify(value)}`)
    }
  }
})

it('generates values at and beyond the limits for each operation with members', () => {
  for (const { operationId, body } of writing) {
    const edges = listMembers(body ?? {}).flatMap(({ schema }) => boundaryValues(schema))
    assert.ok(edges.length > 0, operationId)
  }
})

it('ignores an unknown keyword', () => {
  const [value] = fc.sample(arbitrarySchemaValue({ not: {} }), SAMPLES)
  assert.notEqual(value, undefined)
})
