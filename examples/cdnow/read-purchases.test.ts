import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { it } from 'node:test'
import { purchaseEventId } from './purchase-event.ts'
import { parsePurchases, readPurchases } from './read-purchases.ts'

const SAMPLE = join(import.meta.dirname, 'CDNOW_sample.txt')

it('the sample is byte for byte what SOURCE.md says that it is', () => {
  const digest = createHash('sha256').update(readFileSync(SAMPLE)).digest('hex')
  const source = readFileSync(join(import.meta.dirname, 'SOURCE.md'), 'utf8')
  assert.ok(source.includes(`SHA-256 \`${digest}\``))
})

it('every line of the sample is a purchase, and each has an event id of its own', () => {
  const purchases = readPurchases(SAMPLE)
  assert.equal(purchases.length, 6_919)
  assert.deepEqual(purchases[0], {
    line: 1,
    customer: '00004',
    date: '1997-01-01',
    items: 2,
    dollars: '29.33',
  })
  assert.equal(new Set(purchases.map(purchaseEventId)).size, 6_919)
})

it('a line of another form is refused with its number, not skipped', () => {
  const good = ' 00004 0001 19970101  2   29.33'
  for (const bad of ['', '00004 0001 19970101 2 29.33', ' 00004 0001 19970101  2   29.333']) {
    assert.throws(() => parsePurchases(`${good}\r\n${bad}\r\n${good}\r\n`), /^Error: Line 2 /)
  }
  assert.equal(parsePurchases(`${good}\r\n${good}`).length, 2)
})
