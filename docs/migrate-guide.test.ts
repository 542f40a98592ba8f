import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { it } from 'node:test'
import { SUBMISSION_MEMBERS } from '@signalbox/contract/submissions.ts'
import { VALUE_DATA_MEMBERS } from '@signalbox/contract/value-data.ts'
import { selectClickIds } from '../service/signals/identity/click-ids.ts'
import { findUserDataKey } from '../service/signals/identity/user-data-keys.ts'

const GUIDE = readFileSync(join(import.meta.dirname, 'guides/migrate.md'), 'utf8')

const CLICK_ID_EXAMPLES: Record<string, string> = {
  fbc: 'fb.1.1795262400000.AbCdEfGhIjKlMnOpQrStUvWxYz0123456789',
  fbp: 'fb.1.1795262400000.1234567890',
}

/** Names of events, which the contract leaves open. */
const EVENT_NAME = /^[A-Z][A-Za-z]+$/

interface Table {
  section: string
  /** What stands in backticks in the second column. */
  targets: string[]
}

function readTables(): Table[] {
  return GUIDE.split(/^## /m)
    .slice(1)
    .map(text => ({
      section: text.split('\n')[0] ?? '',
      targets: text
        .split('\n')
        .filter(line => line.startsWith('| ') && !/^\| -+ \|/.test(line))
        .slice(1)
        .flatMap(line => {
          const [, second = ''] = line.split(' | ')
          return [...second.matchAll(/`([^`]+)`/g)].map(([, target = '']) => target)
        }),
    }))
    .filter(({ targets }) => targets.length > 0)
}

function isField(target: string): boolean {
  const [group = '', name] = target.split('.')
  if (name === undefined) return SUBMISSION_MEMBERS.has(group) || EVENT_NAME.test(group)
  switch (group) {
    case 'user_data':
      return findUserDataKey(name) !== null
    case 'value_data':
      return VALUE_DATA_MEMBERS.has(name)
    case 'click_ids':
      return name in selectClickIds({ [name]: CLICK_ID_EXAMPLES[name] }).clickIds
    default:
      return false
  }
}

it('maps to fields of the contract only', () => {
  const tables = readTables()
  assert.deepEqual(
    tables.map(({ section }) => section),
    [
      'From Segment or RudderStack',
      'From stape or another server container',
      'From your own Conversions API code',
    ],
  )
  for (const { section, targets } of tables) {
    assert.ok(targets.length >= 8, section)
    assert.deepEqual(
      targets.filter(target => !isField(target)),
      [],
      section,
    )
  }
})

it('knows a field that the contract does not have', () => {
  for (const target of ['event_source_url', 'value_data.total', 'user_data.nickname']) {
    assert.equal(isField(target), false, target)
  }
})
