import assert from 'node:assert/strict'
import { it } from 'node:test'
import { DELIVERY_STATUSES } from '@signalbox/contract/deliveries.ts'
import { INITIAL_STATUSES, STATUS_TRANSITIONS, statusesBefore } from './delivery-status.ts'

const FINAL = [
  'accepted',
  'expired',
  'skipped:consent',
  'skipped:no_destination',
  'skipped:duplicate',
]

it('has a row for every status of the contract and for no other', () => {
  assert.deepEqual(Object.keys(STATUS_TRANSITIONS).sort(), [...DELIVERY_STATUSES].sort())
})

it('moves only to statuses of the contract', () => {
  const targets = Object.values(STATUS_TRANSITIONS).flat()
  assert.deepEqual(
    targets.filter(status => !DELIVERY_STATUSES.includes(status)),
    [],
  )
})

it('lets nothing leave a final status, least of all an acceptance', () => {
  const immovable = DELIVERY_STATUSES.filter(status => STATUS_TRANSITIONS[status].length === 0)
  assert.deepEqual(immovable.sort(), FINAL.toSorted())
})

it('reaches every status from those in which a delivery is born', () => {
  const reached = new Set(INITIAL_STATUSES)
  for (const status of reached) for (const next of STATUS_TRANSITIONS[status]) reached.add(next)
  assert.deepEqual([...reached].sort(), [...DELIVERY_STATUSES].sort())
})

it('leads everything that is not final to an acceptance or to an end', () => {
  for (const status of DELIVERY_STATUSES) {
    const ahead = new Set([status])
    for (const step of ahead) for (const next of STATUS_TRANSITIONS[step]) ahead.add(next)
    assert.ok([...ahead].some(end => FINAL.includes(end)))
  }
})

it('hands over what waits and what was handed over by a worker that died, nothing else', () => {
  assert.deepEqual(statusesBefore('sent').sort(), ['queued', 'retrying', 'sent'])
})

it('accepts only what was handed over', () => {
  assert.deepEqual(statusesBefore('accepted'), ['sent'])
  assert.deepEqual(statusesBefore('failed:permanent'), ['sent'])
})

it('queues again what is replayed and what a paused destination gives back', () => {
  assert.deepEqual(statusesBefore('queued').sort(), [
    'failed:auth',
    'failed:permanent',
    'failed:unknown',
    'sent',
  ])
})

it('skips for consent whatever has not been settled', () => {
  assert.deepEqual(statusesBefore('skipped:consent').sort(), ['queued', 'retrying', 'sent'])
})
