import assert from 'node:assert/strict'
import { it } from 'node:test'
import { decimalToken } from '@signalbox/contract/decimal.ts'
import { formatCsv } from './csv.ts'

it('quotes separators, quotes and line breaks as RFC 4180 says', () => {
  const rows = [
    ['day', 'name', 'count'],
    ['2026-11-20', 'a "b", c', 3],
    ['', 'two\r\nlines', null],
  ]
  assert.equal(
    formatCsv(rows),
    'day,name,count\r\n2026-11-20,"a ""b"", c",3\r\n,"two\r\nlines",\r\n',
  )
})

it('keeps spreadsheets from running a text as a formula, and numbers as they are', () => {
  for (const formula of [
    '=1+1',
    '+1',
    '-1',
    '@SUM(A1)',
    ' =1',
    '\t=1',
    '\r=1',
    '\u00a0=1',
    '＝1',
  ]) {
    assert.match(formatCsv([[formula]]), /^"?'/, JSON.stringify(formula))
  }
  assert.equal(formatCsv([['=HYPERLINK("x","y")']]), `"'=HYPERLINK(""x"",""y"")"\r\n`)
  assert.equal(formatCsv([[-5, 0.5, 'Purchase', 'a=b']]), '-5,0.5,Purchase,a=b\r\n')
})

it('writes nested values as JSON, and every digit of a decimal', () => {
  const row = [{ json: decimalToken('-19.950') }, { json: true }, { json: { name: '=1' } }]
  assert.equal(formatCsv([row]), `-19.950,true,"{""name"":""=1""}"\r\n`)
})
