import assert from 'node:assert/strict'
import { it } from 'node:test'
import { createTestDatabase } from '../../../testing/fixtures/database.ts'
import { DESTINATION_ID, TRACKER_ID } from '../../../testing/fixtures/stored-events.ts'
import {
  type Alert,
  type AlertTransition,
  countOpenAlerts,
  raiseAlert,
  resolveAlert,
} from './alert-store.ts'

const NOW = new Date('2026-11-21T05:00:00.000Z')
const LATER = new Date('2026-11-22T05:00:00.000Z')

function alert(changes: Partial<Alert> = {}): Alert {
  return {
    trackerId: TRACKER_ID,
    destinationId: DESTINATION_ID,
    kind: 'emq_low',
    sentence: 'The score is 3.9.',
    details: { score: '3.9' },
    ...changes,
  }
}

async function alertsUnderTest(test: Parameters<typeof createTestDatabase>[0]) {
  const { database } = await createTestDatabase(test)
  const transitions: AlertTransition[] = []
  const context = {
    database,
    onAlert: (transition: AlertTransition) => void transitions.push(transition),
  }
  const stored = async () => (await database.pool.query('select * from alerts order by id')).rows
  return { context, transitions, stored, database }
}

it('notifies once and updates the sentence while the alert is open', async test => {
  const { context, transitions, stored } = await alertsUnderTest(test)
  assert.equal(await raiseAlert(context, alert(), NOW), true)
  const worse = alert({ sentence: 'The score is 3.1.', details: { score: '3.1' } })
  assert.equal(await raiseAlert(context, worse, LATER), false)
  assert.deepEqual(await stored(), [
    {
      tracker_id: TRACKER_ID,
      id: 1,
      destination_id: DESTINATION_ID,
      kind: 'emq_low',
      sentence: 'The score is 3.1.',
      details: { score: '3.1' },
      raised_at: NOW,
      resolved_at: null,
    },
  ])
  const { trackerId, destinationId, kind } = alert()
  const transition = {
    trackerId,
    destinationId,
    kind,
    transition: 'raised',
    sentence: 'The score is 3.9.',
  }
  assert.deepEqual(transitions, [transition])
})

it('resolves once and can be raised again under a new ID', async test => {
  const { context, transitions, stored, database } = await alertsUnderTest(test)
  await raiseAlert(context, alert(), NOW)
  assert.equal(await resolveAlert(context, alert(), LATER), true)
  assert.equal(await resolveAlert(context, alert(), LATER), false)
  assert.deepEqual(await countOpenAlerts(database), {})
  assert.equal(await raiseAlert(context, alert(), LATER), true)
  assert.deepEqual(
    (await stored()).map(row => [row.id, row.resolved_at]),
    [
      [1, LATER],
      [2, null],
    ],
  )
  assert.deepEqual(
    transitions.map(({ transition }) => transition),
    ['raised', 'resolved', 'raised'],
  )
})

it('resolves only its own kind, destination and tracker', async test => {
  const { context, database } = await alertsUnderTest(test)
  await raiseAlert(context, alert(), NOW)
  const others: Partial<Alert>[] = [
    { kind: 'emq_fell' },
    { destinationId: TRACKER_ID },
    { trackerId: DESTINATION_ID },
  ]
  for (const other of others) {
    assert.equal(await resolveAlert(context, alert(other), LATER), false)
    await raiseAlert(context, alert(other), NOW)
  }
  assert.deepEqual(await countOpenAlerts(database), { emq_low: 3, emq_fell: 1 })
})

it('opens one alert per kind when many are raised concurrently', async test => {
  const { context, transitions, stored } = await alertsUnderTest(test)
  const kinds = ['emq_low', 'emq_fell', 'reconciliation_unexplained'] as const
  const raised = await Promise.all(
    Array.from({ length: 15 }, (_, index) =>
      raiseAlert(context, alert({ kind: kinds[index % 3] ?? 'emq_low' }), NOW),
    ),
  )
  assert.equal(raised.filter(isNew => isNew).length, 3)
  assert.equal(transitions.length, 3)
  assert.deepEqual(
    (await stored()).map(({ id }) => id),
    [1, 2, 3],
  )
})
