import assert from 'node:assert/strict'
import { it } from 'node:test'
import { findCoverageGaps, parseResponses } from './contract-coverage.ts'

const paths = {
  '/events': { post: { operationId: 'createEvent', responses: { 200: {}, 202: {} } } },
  '/events/{event}': { get: { operationId: 'getEvent', responses: { 200: {}, 404: {} } } },
}

const seen = (method: string, path: string, status: number) => ({ method, path, status })
const everything = [
  seen('POST', '/api/v1/events', 200),
  seen('POST', '/api/v1/events', 202),
  seen('GET', '/api/v1/events/order-1', 200),
  seen('GET', '/api/v1/events/%zz', 404),
]

it('reports no gap when a run reaches exactly the documented statuses', () => {
  assert.deepEqual(findCoverageGaps(paths, everything), [])
})

it('names each status that no test received, with its operation', () => {
  assert.deepEqual(findCoverageGaps(paths, everything.slice(1, 3)), [
    'No test reached 200 of createEvent.',
    'No test reached 404 of getEvent.',
  ])
  assert.equal(findCoverageGaps(paths, []).length, 4)
})

it('names an undocumented status that a test received', () => {
  const surprises = [...everything, seen('POST', '/api/v1/events', 418)]
  assert.deepEqual(findCoverageGaps(paths, surprises), [
    'A test met 418 of createEvent: document it.',
  ])
})

it('counts only responses of operations, not of other methods or paths', () => {
  const others = [
    seen('HEAD', '/api/v1/events/order-1', 500),
    seen('PUT', '/api/v1/events', 405),
    seen('GET', '/api/v1/events/a/b', 500),
    seen('GET', '/api/v1/event', 500),
    seen('POST', '/events', 500),
  ]
  assert.deepEqual(findCoverageGaps(paths, [...everything, ...others]), [])
})

it('parses the recorded lines of a run', () => {
  const lines = everything.map(answer => `${JSON.stringify(answer)}\n`).join('')
  assert.deepEqual(parseResponses(lines), everything)
  assert.deepEqual(parseResponses(''), [])
})
