import assert from 'node:assert/strict'
import { it } from 'node:test'
import { checkEvents, type StoredEvent } from './check-events.ts'
import type { SubmittedEvent } from './event-load.ts'

function check(changes: {
  submitted?: Partial<SubmittedEvent>
  stored?: Partial<StoredEvent>[]
  copies?: string[]
}): string[] {
  const event: SubmittedEvent = {
    eventId: 'a',
    kind: 'purchase',
    value: '19.90',
    isAcknowledged: true,
    ...changes.submitted,
  }
  const stored = (changes.stored ?? [{}]).map(each => ({ ...ACCEPTED, ...each }))
  const copies = changes.copies ?? ['trace-1']
  return checkEvents(new Map([[event.eventId, event]]), stored, {
    receipts: new Map(copies.length > 0 ? [['a', copies]] : []),
  })
}

const ACCEPTED: StoredEvent = {
  eventId: 'a',
  status: 'accepted',
  attemptCount: 1,
  traceId: 'trace-1',
  outcomes: ['accepted'],
  value: '19.9',
}

it('finds nothing wrong with an event that was stored once and received once', () => {
  assert.deepEqual(check({}), [])
})

it('allows a copy for an unknown outcome, and for a worker that was lost', () => {
  const copies = ['trace-0', 'trace-1']
  const unknown = { attemptCount: 2, outcomes: ['unknown', 'accepted'] }
  assert.deepEqual(check({ stored: [unknown], copies }), [])
  assert.deepEqual(check({ stored: [{ attemptCount: 2 }], copies }), [])
})

it('allows an event that was never acknowledged to be stored or not', () => {
  const submitted = { isAcknowledged: false }
  assert.deepEqual(check({ submitted }), [])
  assert.deepEqual(check({ submitted, stored: [], copies: [] }), [])
})

const VIOLATIONS: [what: string, changes: Parameters<typeof check>[0], expected: RegExp][] = [
  ['an acknowledged event that is lost', { stored: [], copies: [] }, /acknowledged and not stored/],
  ['an event with two deliveries', { stored: [{}, {}] }, /stored with 2 deliveries/],
  ['an event without a delivery', { stored: [{ status: null }] }, /should be accepted/],
  ['a delivery that still waits', { stored: [{ status: 'retrying' }] }, /should be accepted/],
  ['another value', { stored: [{ value: '1.99' }] }, /worth 19.90: 1.99/],
  ['an accepted event that never arrived', { copies: [] }, /never received/],
  ['a copy without a reason', { copies: ['trace-0', 'trace-1'] }, /received 2 times, at most 1/],
  [
    'a copy after the acceptance',
    { stored: [{ attemptCount: 2 }], copies: ['trace-1', 'trace-2'] },
    /received again after its acceptance/,
  ],
  ['an event that is not of this load', { stored: [{}, { eventId: 'b' }] }, /b .*never submitted/],
]

for (const [what, changes, expected] of VIOLATIONS) {
  it(`reports ${what}`, () => {
    assert.match(check(changes).join('\n'), expected)
  })
}

it('reports a copy of an event that an earlier schedule had settled', () => {
  const problems = checkEvents(new Map(), [], { receipts: new Map([['earlier', ['trace-9']]]) })
  assert.deepEqual(problems, ['earlier: received, and not stored in this schedule'])
})
