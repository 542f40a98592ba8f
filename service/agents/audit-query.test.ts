import assert from 'node:assert/strict'
import { it } from 'node:test'
import { auditQuery, newerQuery, olderQuery } from './audit-query.ts'

const follow = (query: string) => auditQuery(Object.fromEntries(new URLSearchParams(query)))

it('the links lead to older pages and back again, with the same filter', () => {
  const first = auditQuery({ action: 'policy.changed', subject_type: 'policy', subject_id: '7' })
  const second = follow(olderQuery(first, 100))
  const third = follow(olderQuery(second, 50))
  assert.deepEqual([second.before, third.before], [100, 50])
  assert.deepEqual(follow(newerQuery(third) ?? ''), second)
  assert.deepEqual(follow(newerQuery(second) ?? ''), first)
  assert.equal(newerQuery(first), null)
  assert.equal(third.action, 'policy.changed')
})

it('what cannot be meant counts as left out', () => {
  const junk = { action: 'x', subject_type: ['batch'], before: '-1', newer: '1.x.<b>.2', page: 9 }
  assert.deepEqual(auditQuery(junk), { ...auditQuery({}), newer: [1, 2] })
  assert.equal(auditQuery({ before: '9'.repeat(30) }).before, null)
  for (const subject_id of ['x'.repeat(101), '7\0', "7' or 1", '../7']) {
    assert.equal(auditQuery({ subject_id }).subjectId, '', subject_id)
  }
})
