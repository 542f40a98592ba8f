import assert from 'node:assert/strict'
import { it } from 'node:test'
import { type CellFormats, readCell } from './cell-formats.ts'
import { mapColumns } from './map-columns.ts'

const amount = (text: string, decimal: CellFormats['decimal']) =>
  readCell('value_data.value', text, { decimal })
const time = (text: string, formats: CellFormats) => readCell('event_time', text, formats)

it('reads amounts with a decimal comma, and with marks for thousands', () => {
  const texts = ['19,95', '1.234,50', '1 234 567,5', '-3,1', '1.234', '12', "1'000,00"]
  assert.deepEqual(
    texts.map(text => amount(text, 'comma')),
    ['19.95', '1234.50', '1234567.5', '-3.1', '1234', '12', '1000.00'],
  )
  assert.equal(amount('1,234.50', 'point'), '1234.50')
})

it('keeps an amount that is written in another way, so that the API refuses it', () => {
  for (const text of ['19.95', '1.23,4', '12,34,5', '1.2345,6', '€ 5', '', '12,', ',5']) {
    assert.equal(amount(text, 'comma'), text)
  }
  assert.equal(amount('19,95', undefined), '19,95')
  assert.equal(readCell('value_data.order_id', '1.234,50', { decimal: 'comma' }), '1.234,50')
})

it('reads days in three orders, at the time of a zone', () => {
  const berlin = { dates: 'dmy', timeZone: 'Europe/Berlin' } as const
  assert.equal(time('20.11.2026 14:05', berlin), '2026-11-20T13:05:00.000Z')
  assert.equal(time('1/7/2026, 09:30:15', berlin), '2026-07-01T07:30:15.000Z')
  assert.equal(time('20.11.2026', berlin), '2026-11-19T23:00:00.000Z')
  assert.equal(time('7/1/2026 09:30', { dates: 'mdy' }), '2026-07-01T09:30:00.000Z')
  const kathmandu = { timeZone: 'Asia/Kathmandu' }
  assert.equal(time('2026-11-20 05:45:00', kathmandu), '2026-11-20T00:00:00.000Z')
  assert.equal(time('2026-11-20 05:45', { dates: 'ymd' }), '2026-11-20T05:45:00.000Z')
})

it('keeps a time that says its offset, and any other text', () => {
  const zone = { dates: 'dmy', timeZone: 'Europe/Berlin' } as const
  for (const text of ['2026-11-20T14:05:00Z', '2026-11-20T14:05:00+01:00', '1764000000', 'x']) {
    assert.equal(time(text, zone), text)
  }
  assert.equal(time('20.11.2026', {}), '20.11.2026')
})

it('refuses a day that is none, and a time that clocks skip; of two it takes the first', () => {
  const zone = { dates: 'dmy', timeZone: 'Europe/Berlin' } as const
  assert.throws(() => time('31.02.2026 10:00', zone), /no such day or time/)
  assert.throws(() => time('20.11.2026 24:00', zone), /no such day or time/)
  assert.throws(() => time('29.03.2026 02:30', zone), /clocks skip in Europe\/Berlin/)
  assert.equal(time('25.10.2026 02:30', zone), '2026-10-25T00:30:00.000Z')
  assert.throws(() => time('20.11.2026', { ...zone, timeZone: 'Mars' }), /no time zone "Mars"/)
})

it('applies to the columns of a file and never to a consent cell', () => {
  const header = ['name', 'total', 'at', 'consent.advertising', 'consent.captured_at']
  const map = ['total=value_data.value', 'at=event_time']
  const { toEvent } = mapColumns(header, map, { decimal: 'comma', dates: 'dmy' })
  assert.deepEqual(toEvent(['Purchase', '1.234,5', '20.11.2026', 'denied', '19.11.2026']), {
    event_name: 'Purchase',
    value_data: { value: '1234.5' },
    event_time: '2026-11-20T00:00:00.000Z',
    consent: { advertising: 'denied', captured_at: '2026-11-19T00:00:00.000Z' },
  })
  const empty = toEvent(['Purchase', '', '', '', '19.11.2026'])
  assert.deepEqual(empty?.consent, {
    captured_at: '2026-11-19T00:00:00.000Z',
    advertising: 'unknown',
  })
})
