import assert from 'node:assert/strict'
import { it } from 'node:test'
import { sendAsOthers } from '../../testing/platform-counts.ts'
import { samplePurchase } from '../../testing/sample-purchase.ts'
import { serviceUnderTest } from '../../testing/service-under-test.ts'
import type { AlertTransition } from './alert-store.ts'
import { makeDueReports } from './make-reports.ts'

const HOUR = 3_600
/** From noon to six in the morning of the third day after. */
const TO_FINAL = 66 * HOUR
const DAY = 24 * HOUR

it('much that nothing explains raises one alert in the final report, which a fine day resolves', async test => {
  const service = await serviceUnderTest(test)
  const moves: AlertTransition[] = []
  const onAlert = (move: AlertTransition) => void moves.push(move)
  const makeDue = () =>
    makeDueReports({ ...service.delivery, onAlert }, { now: service.clock.now() })

  await service.submit(samplePurchase())
  await service.deliver()
  await sendAsOthers(service, { source: 'server', events: [{ event_name: 'Purchase', count: 10 }] })
  service.clock.forward(18 * HOUR)
  await makeDue()
  assert.deepEqual(moves, [])
  service.clock.forward(TO_FINAL - 18 * HOUR)
  await makeDue()
  await makeDue()
  assert.equal(moves.length, 1)
  assert.partialDeepStrictEqual(moves[0], {
    kind: 'reconciliation_unexplained',
    move: 'raised',
    trackerId: service.tracker.trackerId,
    sentence:
      'Of 2026-11-21 the platform counts 10 events more than anything explains: see the ' +
      'reconciliation report.',
  })

  service.clock.forward(DAY)
  await makeDue()
  assert.deepEqual(
    moves.map(({ move }) => move),
    ['raised', 'resolved'],
  )
})

it('a few events that nothing explains raise none', async test => {
  const service = await serviceUnderTest(test)
  const moves: AlertTransition[] = []
  await service.submit(samplePurchase())
  await service.deliver()
  await sendAsOthers(service, { source: 'server', events: [{ event_name: 'Purchase', count: 9 }] })
  service.clock.forward(TO_FINAL)
  const context = { ...service.delivery, onAlert: (move: AlertTransition) => void moves.push(move) }
  await makeDueReports(context, { now: service.clock.now() })
  assert.deepEqual(moves, [])
})
