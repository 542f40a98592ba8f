import assert from 'node:assert/strict'
import { it } from 'node:test'
import { checkAnswers } from './check-answers.ts'
import { withRepeats } from './send-all.ts'
import type { Answer } from './submit-event.ts'

const first: Answer = { eventId: 'a', status: 202, duplicate: false, retries: 0 }
const copy: Answer = { eventId: 'a', status: 200, duplicate: true, retries: 2 }

it('every tenth is sent twice, the copy right behind it', () => {
  const sent = withRepeats(Array.from({ length: 25 }, (_, index) => index + 1))
  assert.equal(sent.length, 27)
  assert.deepEqual(sent.slice(8, 12), [9, 10, 10, 11])
})

it('the figures count new, duplicate and repeated answers', () => {
  assert.deepEqual(checkAnswers([first, copy]), {
    submissions: 2,
    accepted: 1,
    duplicates: 1,
    retries: 2,
    differences: [],
  })
})

it('an event that is new twice is a difference, in whatever order', () => {
  assert.deepEqual(checkAnswers([first, first]).differences, ['a: answered 202 twice'])
  assert.deepEqual(checkAnswers([copy, first, copy]).differences, [])
})

it('an answer that contradicts itself, or is a refusal, is a difference', () => {
  const wrong: Answer[] = [
    { ...first, duplicate: true },
    { ...copy, duplicate: false },
    { ...first, status: 503, duplicate: null },
    { ...first, status: 0, duplicate: null },
  ]
  for (const answer of wrong) assert.equal(checkAnswers([answer]).differences.length, 1)
})
