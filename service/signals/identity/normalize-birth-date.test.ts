import assert from 'node:assert/strict'
import { it } from 'node:test'
import { DROP_REASONS } from './dropped-fields.ts'
import {
  normalizeBirthDate,
  normalizeBirthDay,
  normalizeBirthMonth,
  normalizeBirthYear,
} from './normalize-demographics.ts'

const observedAt = new Date('2026-11-21T12:00:00.000Z')
const readDate = (text: string) => normalizeBirthDate(text, { observedAt })
const NO_DATE = { reason: DROP_REASONS.birthDate }
const IN_FUTURE = { reason: DROP_REASONS.birthDateInFuture }

it('a year-last date that could be two days is dropped', () => {
  assert.deepEqual(readDate('02/03/1997'), NO_DATE)
  assert.equal(readDate('03/03/1997'), '19970303')
  assert.equal(readDate('31.12.1999'), '19991231')
  assert.equal(readDate('12-31-1999'), '19991231')
})

it('a birth date is a day of the calendar from 1900 on', () => {
  assert.equal(readDate('2000-02-29'), '20000229')
  assert.equal(readDate('1997/2/6'), '19970206')
  for (const impossible of [
    '1900-02-29',
    '2001-02-29',
    '1899-12-31',
    '1997-00-10',
    '1997-1216',
    '19970000',
  ])
    assert.deepEqual(readDate(impossible), NO_DATE, impossible)
})

it('reads every separator that leaves one date, and the names of the parts', () => {
  for (const date of [
    ...['1990_12_31', '1990|12|31', '1990:12:31', '12:31:1990', '31|12|1990', '12_31_1990'],
    ...['1990.12-31', '12-31/1990', '12 31/1990', '1990-31-12', '1990. 12. 31.', '31.12.1990.'],
    ...['12–31–1990', '1990—12—31', '12--31--1990', '31 / 12 / 1990'.replaceAll(' / ', '/')],
    ...['1990年12月31日', '1990년 12월 31일', '1990:12:31 10:20:30', '12/31/1990 (mm/dd/yyyy)'],
  ])
    assert.equal(readDate(date), '19901231', date)
  for (const none of [
    ...['01_02_1990', '1:2:1990', '02|01|1990', '1990_13_32', '1990_12', '12:31', '10:20:30'],
    ...['1990-12-31-00', 'born 1990-12-31', '1990/12/31/x', '19901231x', '1990-12-311', '90_12_31'],
  ])
    assert.deepEqual(readDate(none), NO_DATE, none)
})

it('the date of an ISO timestamp counts as it is written, in any time zone', () => {
  for (const timestamp of [
    '1997-02-16t00:00:00z',
    '1997-02-16t00:00:00.000z',
    '1997-02-16t23:59:59.999999+14:00',
    '1997-02-16t00:30-0800',
    '1997-02-16 00:00:00',
    '1997-02-16 00:00:00 +02',
  ])
    assert.equal(readDate(timestamp), '19970216', timestamp)
  for (const broken of ['1997-02-16t', '1997-02-16t00', 't00:00:00z', '1997-02-16t00:00:00x'])
    assert.deepEqual(readDate(broken), NO_DATE, broken)
})

it('a birth date in the future is dropped, but for the time zones that are ahead', () => {
  for (const future of ['2030-01-01', '2026-11-23', '20261123', '9999-12-31'])
    assert.deepEqual(readDate(future), IN_FUTURE, future)
  for (const today of ['2026-11-21', '2026-11-22']) assert.equal(typeof readDate(today), 'string')
})

it('day, month and year of a birth date have two, two and four digits', () => {
  assert.equal(normalizeBirthDay('6'), '06')
  assert.equal(normalizeBirthDay('31'), '31')
  assert.equal(normalizeBirthMonth('2'), '02')
  assert.equal(normalizeBirthYear('1997', { observedAt }), '1997')
  for (const text of ['0', '32', '006', 'feb', '']) assert.equal(normalizeBirthDay(text), null)
  for (const text of ['0', '13', 'feb']) assert.equal(normalizeBirthMonth(text), null)
  for (const text of ['97', '1899', '2027', '19970'])
    assert.equal(normalizeBirthYear(text, { observedAt }), null)
})
