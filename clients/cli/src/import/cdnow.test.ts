import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { it } from 'node:test'
import { readPurchases, spreadOverRecentDays } from '../../../../examples/cdnow/purchases.ts'
import { isShortRun } from '../../../../testing/fixtures/seeded-random.ts'
import { startCli } from '../../testing/run-command.ts'

const SAMPLE = join(import.meta.dirname, '../../../../examples/cdnow/CDNOW_sample.txt')
/** The complete sample in a full run. */
const LINES_MAX = isShortRun() ? 300 : 1_000_000

it('sends and exports real purchases, equal to the cent', async test => {
  const { service, folder, run } = await startCli(test)
  const purchases = readPurchases(SAMPLE).slice(0, LINES_MAX)
  const timeOf = spreadOverRecentDays(purchases, service.clock.now())
  const rows = purchases.map(purchase =>
    [purchase.customer, timeOf(purchase).toISOString(), purchase.items, purchase.dollars].join(),
  )
  const path = join(folder, 'cdnow.csv')
  writeFileSync(path, `customer,time,items,dollars\n${rows.join('\n')}\n`)
  const map = ['--map', 'customer=external_id', '--map', 'dollars=value']
  const fill = ['--name', 'Purchase', '--currency', 'USD', '--consent-basis', 'consent']
  const command = [
    'events',
    'create',
    '--file',
    path,
    ...map,
    ...fill,
    '--concurrency',
    '32',
    '--json',
    '-q',
  ]
  const { stored, refused } = JSON.parse((await run(command)).stdout)
  assert.deepEqual([stored, refused], [purchases.length, 0])
  assert.equal(JSON.parse((await run(command)).stdout).duplicates, purchases.length)
  await service.deliver()

  const exported = (await run(['events', 'list', '--all', '--csv'])).stdout.trim().split('\r\n')
  const cells = exported.slice(1).map(row => row.split(','))
  const amount = (exported[0] ?? '').split(',').indexOf('value_amount')
  const sum = (amounts: string[]) =>
    amounts.reduce((total, text) => total + BigInt(text.replace('.', '')), 0n)
  const expected = sum(purchases.map(({ dollars }) => dollars))
  assert.equal(sum(cells.map(row => row[amount] ?? '')), expected)
  assert.ok(cells.every(row => row.at(-1) === 'accepted'))
})
