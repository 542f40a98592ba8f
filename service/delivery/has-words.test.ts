import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { SendAnswer } from '../platforms/send-outcome.ts'
import { hasWords } from './has-words.ts'

const ERROR = {
  class: 'unknown' as const,
  code: null,
  subcode: null,
  message: 'No answer came.',
  user_title: null,
  user_message: null,
  http_status: null,
}

function answered(answer: SendAnswer['answer'], error: SendAnswer['error'] = null): boolean {
  const frame = { waitSeconds: 0, httpStatus: 200, traceId: 'AbC' }
  return hasWords({ ...frame, outcome: error ? 'unknown' : 'accepted', answer, error })
}

it('an answer of a number of events and empty lists has no words, nor has none at all', () => {
  assert.equal(answered({ events_received: 1_000, messages: [] }), false)
  assert.equal(answered({ events_received: 1_000 }), false)
  assert.equal(answered({}), false)
  assert.equal(answered(null), false)
})

it('every error has words, whatever was answered', () => {
  assert.equal(answered(null, ERROR), true)
  assert.equal(answered({ events_received: 999 }, ERROR), true)
})

it('whatever else is answered may be words', () => {
  const members: Record<string, unknown>[] = [
    { messages: ['jane@example.com is unknown'] },
    { messages: [[]] },
    { messages: 'jane@example.com is unknown' },
    { messages: { text: 'jane@example.com is unknown' } },
    { events_received: '81.2.69.160' },
    { events_received: { em: 'jane@example.com' } },
    { phone: 15_123_456_789 },
    { error: { message: 'Invalid parameter' } },
  ]
  for (const member of members) {
    const answer = { events_received: 2, messages: [], ...member }
    assert.equal(answered(answer), true, JSON.stringify(member))
  }
})
