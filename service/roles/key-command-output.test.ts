import assert from 'node:assert/strict'
import { it } from 'node:test'
import { formatKeyRow, KEY_TABLE_HEADER } from './key-command.ts'

const ISSUED_AT = new Date('2026-11-21T12:00:59.000Z')

it('shows of a key what tells it from others, in the columns of its head', () => {
  const key = {
    kind: 'publishable',
    last_characters: 'c0de',
    created_at: ISSUED_AT,
    last_used_at: new Date('2026-11-22T00:30:00.000Z'),
    revoked_at: null,
    origins: ['https://shop.example', 'http://127.0.0.1:*'],
  }
  assert.equal(
    KEY_TABLE_HEADER +
      formatKeyRow(key) +
      formatKeyRow({ ...key, kind: 'tracker_secret', origins: [] }),
    [
      'KIND         LAST  ISSUED            LAST USED         REVOKED           ORIGINS',
      'publishable  c0de  2026-11-21 12:00  2026-11-22 00:30  -                 ' +
        'https://shop.example http://127.0.0.1:*',
      'secret       c0de  2026-11-21 12:00  2026-11-22 00:30  -',
      '',
    ].join('\n'),
  )
  const retired = formatKeyRow({ ...key, last_used_at: null, revoked_at: ISSUED_AT })
  assert.match(retired, / 12:00 {2}- {17}2026-11-21 12:00 {2}https:/)
})
