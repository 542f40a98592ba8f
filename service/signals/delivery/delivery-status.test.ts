import assert from 'node:assert/strict'
import { it } from 'node:test'
import { DELIVERY_STATUSES, type DeliveryStatus } from '@signalbox/contract/deliveries.ts'
import { INITIAL_STATUSES, STATUS_TRANSITIONS, statusesBefore } from './delivery-status.ts'

const FINAL = ['expired', 'skipped:no_destination', 'skipped:duplicate', 'skipped:not_selected']

it('has transitions for every status of the contract and for no other', () => {
  assert.deepEqual(Object.keys(STATUS_TRANSITIONS).sort(), [...DELIVERY_STATUSES].sort())
})

it('has transitions only to statuses of the contract', () => {
  const targets = Object.values(STATUS_TRANSITIONS).flat()
  assert.deepEqual(
    targets.filter(status => !DELIVERY_STATUSES.includes(status)),
    [],
  )
})

it('has no transition from a final status', () => {
  const final = DELIVERY_STATUSES.filter(status => STATUS_TRANSITIONS[status].length === 0)
  assert.deepEqual(final.sort(), FINAL.toSorted())
})

it('reaches every status from the initial ones', () => {
  const reached = new Set<DeliveryStatus>(INITIAL_STATUSES)
  for (const status of reached) for (const next of STATUS_TRANSITIONS[status]) reached.add(next)
  assert.deepEqual([...reached].sort(), [...DELIVERY_STATUSES].sort())
})

it('leads from every status to a final one', () => {
  for (const status of DELIVERY_STATUSES) {
    const reachable = new Set([status])
    for (const step of reachable) for (const next of STATUS_TRANSITIONS[step]) reachable.add(next)
    assert.ok([...reachable].some(reached => FINAL.includes(reached)))
  }
})

it('claims waiting deliveries and those of a dead worker only', () => {
  assert.deepEqual(statusesBefore('sent').sort(), ['queued', 'retrying', 'sent'])
})

it('accepts only a sent delivery, and fails one whose request failed after it was accepted', () => {
  assert.deepEqual(statusesBefore('accepted'), ['sent'])
  assert.deepEqual(statusesBefore('failed:permanent').sort(), ['accepted', 'sent'])
})

it('queues again what is replayed, returned by a paused destination, or no longer withdrawn', () => {
  assert.deepEqual(statusesBefore('queued').sort(), [
    'failed:auth',
    'failed:permanent',
    'failed:unknown',
    'sent',
    'skipped:consent',
  ])
})

it('skips for consent every delivery that is not settled', () => {
  assert.deepEqual(statusesBefore('skipped:consent').sort(), ['queued', 'retrying', 'sent'])
})
