import assert from 'node:assert/strict'
import { it } from 'node:test'
import { Interleaving } from '../../../testing/concurrency/interleaving.ts'
import { money, startGoogleShop } from '../../../testing/fixtures/google-shop.ts'
import { createSeededRandom, isShortRun } from '../../../testing/fixtures/seeded-random.ts'
import type { Database } from '../../runtime/db/database.ts'
import { deliverDueBatch } from './deliver-batch.ts'

const RESULT_SECONDS = 31 * 60
const SEEDS = isShortRun() ? [1, 2, 3] : Array.from({ length: 12 }, (_, index) => index + 1)

/** The same database, whose statements wait for the turn of their worker. */
function takeTurns(database: Database, waitForTurn: () => Promise<void>): Database {
  const pool = new Proxy(database.pool, {
    get(target, name) {
      const member = Reflect.get(target, name)
      if (typeof member !== 'function') return member
      if (name !== 'query') return member.bind(target)
      return async (...given: unknown[]) => {
        await waitForTurn()
        return member.apply(target, given)
      }
    },
  })
  return { ...database, pool }
}

for (const seed of SEEDS) {
  it(`two workers with refunds of one order tell one value at a time (seed ${seed})`, async test => {
    const shop = await startGoogleShop(test)
    const { service, destinationId } = shop
    const { delivery, tracker } = service
    await shop.buy()
    await shop.turn()
    await shop.turn(RESULT_SECONDS)
    await shop.refund('refund-1', { value_data: money('10', '1001') })
    await shop.refund('refund-2', { value_data: money('20', '1001') })

    const order = new Interleaving(createSeededRandom(seed))
    const claimed: number[] = []
    const work = async (task: number) => {
      const database = takeTurns(delivery.database, () => order.waitForTurn(task))
      const { trackerId } = tracker
      const queue = { trackerId, destinationId, platform: 'google_ads', isProbe: false }
      const run = await deliverDueBatch({ ...delivery, database, batchMax: 1 }, queue, () => {})
      claimed.push(run.claimedCount)
    }
    const refundAgain = async (task: number) => {
      await order.waitForTurn(task)
      await shop.refund('refund-3', { value_data: money('5', '1001') })
    }
    await order.runAll([work, work, refundAgain])

    assert.ok(claimed.includes(1), 'no worker claimed a refund')
    const told = (await shop.told()).slice(1)
    assert.ok(told.length <= 1, `two values are under way: ${told}`)
    for (const value of told) assert.ok([70, 65].includes(value), `${value} leaves out a refund`)
    for (let turns = 0; turns < 5; turns += 1) await shop.turn(RESULT_SECONDS)
    assert.deepEqual(await shop.values(), { 1001: '65.00 EUR' })
    const all = (await shop.told()).slice(1)
    assert.deepEqual(
      all,
      all.toSorted((one, other) => other - one),
      'an older value came last',
    )
    assert.equal(all.at(-1), 65)
    assert.ok(all.length <= 2, `the value was told ${all.length} times`)
  })
}
