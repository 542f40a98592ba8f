import assert from 'node:assert/strict'
import { it } from 'node:test'
import { newerPageQuery, olderPageQuery, parseAuditPageQuery } from './audit-page-routes.ts'

const follow = (query: string) =>
  parseAuditPageQuery(Object.fromEntries(new URLSearchParams(query)))

it('builds queries for older and newer pages with the same filter', () => {
  const first = parseAuditPageQuery({
    action: 'policy.changed',
    subject_type: 'policy',
    subject_id: '7',
  })
  const second = follow(olderPageQuery(first, 100))
  const third = follow(olderPageQuery(second, 50))
  assert.deepEqual([second.before, third.before], [100, 50])
  assert.deepEqual(follow(newerPageQuery(third) ?? ''), second)
  assert.deepEqual(follow(newerPageQuery(second) ?? ''), first)
  assert.equal(newerPageQuery(first), null)
  assert.equal(third.action, 'policy.changed')
})

it('ignores invalid values', () => {
  const junk = { action: 'x', subject_type: ['batch'], before: '-1', newer: '1.x.<b>.2', page: 9 }
  assert.deepEqual(parseAuditPageQuery(junk), { ...parseAuditPageQuery({}), newer: [1, 2] })
  assert.equal(parseAuditPageQuery({ before: '9'.repeat(30) }).before, null)
  for (const subject_id of ['x'.repeat(101), '7\0', "7' or 1", '../7']) {
    assert.equal(parseAuditPageQuery({ subject_id }).subjectId, '', subject_id)
  }
})
